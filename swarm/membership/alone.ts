import type { NodeFile, StoredMember } from './files.ts';

/**
 * A manager that goes on by itself, with what its member of the store knows: after `--force-new-cluster`, and after a
 * restore.
 */
export function alone(file: NodeFile, member: StoredMember): NodeFile {
  const { node, advertiseAddr } = file;
  const cluster = { ...member.cluster, peers: [{ name: node, peerUrl: member.peerUrl }] };
  return {
    ...file,
    managers: [{ node, addr: advertiseAddr }],
    member: { ...member, cluster },
    isForced: true,
  };
}
