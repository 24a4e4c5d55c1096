import { isEngineError } from '../../daemon/base/errors.ts';
import { chooseAddresses, splitAddr, type HostInterface } from './addresses.ts';
import type { NodeFile } from './files.ts';
import { peerUrls } from './manager/join-store.ts';

/**
 * A node whose address nobody named, on a host that does not have that address any more: with the one that the host has
 * now. The same file where there is nothing to change, or nothing to choose.
 */
export function movedWithHost(file: NodeFile, interfaces: readonly HostInterface[]): NodeFile {
  const { host } = splitAddr(file.advertiseAddr);
  const isHere = interfaces.some(({ addresses }) => addresses.includes(host));
  const advertiseAddr = file.followsHost === true && !isHere ? found(file.listenAddr, interfaces) : undefined;
  if (advertiseAddr === undefined) {
    return file;
  }
  const { node, member, managers } = file;
  return {
    ...file,
    advertiseAddr,
    managers: managers.map((manager) => (manager.node === node ? { node, addr: advertiseAddr } : manager)),
    ...(member === undefined ? {} : { member: movedMember(file, member, advertiseAddr) }),
  };
}

function movedMember(
  { node, listenAddr }: NodeFile,
  member: NonNullable<NodeFile['member']>,
  advertiseAddr: string,
): NonNullable<NodeFile['member']> {
  const urls = peerUrls({ listenAddr, advertiseAddr });
  const peers = member.cluster.peers.map((peer) =>
    peer.name === node ? { name: node, peerUrl: urls.peerUrl } : peer,
  );
  return { ...member, ...urls, cluster: { ...member.cluster, peers } };
}

function found(ListenAddr: string, interfaces: readonly HostInterface[]): string | undefined {
  try {
    return chooseAddresses({ ListenAddr }, interfaces, { isJoining: false }).advertiseAddr;
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      // None, or several: the node stays with what it has.
      return undefined;
    }
    throw error;
  }
}
