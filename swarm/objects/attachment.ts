import { createHash } from 'node:crypto';
import { swarmIdOf } from './ids.ts';

/** A container of a node that is no task, in an attachable network. Written by the leader. */
export interface AttachmentRecord {
  /** `attachmentId` of its network, node and container. */
  id: string;
  /** Milliseconds since 1970 UTC. */
  created: number;
  network: string;
  node: string;
  container: string;
  /** Lower case. */
  names: string[];
  /** Without prefix, IPv4 first. */
  addresses: string[];
}

/** The same for the same: what is written twice, by two leaders too, is one record. Pure. */
export function attachmentId({
  network,
  node,
  container,
}: Pick<AttachmentRecord, 'network' | 'node' | 'container'>): string {
  return swarmIdOf(
    createHash('sha256')
      .update(JSON.stringify([network, node, container]))
      .digest(),
  );
}
