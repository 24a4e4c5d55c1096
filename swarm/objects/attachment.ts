/** A container of a node that is no task, in an attachable network. Written by the leader. */
export interface AttachmentRecord {
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
