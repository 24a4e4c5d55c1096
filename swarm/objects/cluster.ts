import type { SwarmSpec } from '../../api/types/swarm/swarm.ts';

/** The user's part of the swarm itself; its root certificate, keys and tokens are sealed elsewhere. */
export interface ClusterRecord {
  id: string;
  /** Milliseconds since 1970 UTC. */
  created: number;
  updated: number;
  spec: SwarmSpec;
}
