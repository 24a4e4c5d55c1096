import { failedPrecondition, isEngineError } from '../../daemon/base/errors.ts';
import { addressOfLink, chooseAddresses, isAnyAddress, splitAddr, type HostInterface } from './addresses.ts';
import type { NodeFile } from './files.ts';
import { peerUrls } from './manager/join-store.ts';

/**
 * A node whose address nobody named, or that of an interface for overlay traffic, on a host that does not have that
 * address any more: with the one that the host has now. The same file where there is nothing to change, or to choose.
 */
export function movedWithHost(stored: NodeFile, interfaces: readonly HostInterface[]): NodeFile {
  const file = withDataPath(stored, interfaces);
  const advertiseAddr =
    file.followsHost === true && !isHere(file.advertiseAddr, interfaces)
      ? found(file.listenAddr, interfaces)
      : undefined;
  return advertiseAddr === undefined ? file : movedTo(file, advertiseAddr);
}

/** Overlay traffic follows the interface that the user named for it. */
function withDataPath(file: NodeFile, interfaces: readonly HostInterface[]): NodeFile {
  const { dataPathLink, dataPathAddr } = file;
  if (dataPathLink === undefined || interfaces.some(({ addresses }) => addresses.includes(dataPathAddr))) {
    return file;
  }
  const now = addressOfLink(dataPathLink, interfaces);
  return now === undefined ? file : { ...file, dataPathAddr: now };
}

/**
 * A node whose files have come to this host, which may be another one: at the address that its user names, else at its
 * own. Throws failed_precondition where this host does not have that one, invalid_argument for a wrong address.
 */
export function placedHere(
  file: NodeFile,
  { interfaces, advertiseAddr }: { interfaces: readonly HostInterface[]; advertiseAddr: string },
): NodeFile {
  if (advertiseAddr === '') {
    if (file.followsHost !== true && !isHere(file.advertiseAddr, interfaces)) {
      const { host } = splitAddr(file.advertiseAddr);
      throw failedPrecondition(
        `the manager was at ${host}, which this host does not have: name this host's address (--advertise-addr)`,
      );
    }
    return file;
  }
  const { host, port } = splitAddr(file.listenAddr);
  const isListening = isAnyAddress(host) || isHere(file.listenAddr, interfaces);
  const chosen = chooseAddresses(
    { ListenAddr: isListening ? file.listenAddr : `0.0.0.0:${port}`, AdvertiseAddr: advertiseAddr },
    interfaces,
    { isJoining: false },
  );
  const hasDataPath = interfaces.some(({ addresses }) => addresses.includes(file.dataPathAddr));
  return movedTo(
    {
      ...file,
      listenAddr: chosen.listenAddr,
      dataPathAddr: hasDataPath ? file.dataPathAddr : '',
      followsHost: false,
    },
    chosen.advertiseAddr,
  );
}

function isHere(addr: string, interfaces: readonly HostInterface[]): boolean {
  const { host } = splitAddr(addr);
  return interfaces.some(({ addresses }) => addresses.includes(host));
}

function movedTo(file: NodeFile, advertiseAddr: string): NodeFile {
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
