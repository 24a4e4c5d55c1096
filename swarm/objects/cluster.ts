import type { SwarmSpec } from '../../api/types/swarm/swarm.ts';

/** The user's part of the swarm itself; its root certificate, keys and tokens are sealed elsewhere. */
export interface ClusterRecord {
  id: string;
  /** Milliseconds since 1970 UTC. */
  created: number;
  updated: number;
  spec: SwarmSpec;
  /** Given at init, and the same for ever: pools that overlay networks get their subnets from, of this many bits. */
  addressPools: string[];
  subnetSize: number;
  /** UDP port of overlay networks between nodes. */
  dataPathPort: number;
}
