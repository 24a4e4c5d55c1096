import type { ConfigSpec } from '../../api/types/swarm/config.ts';

/** A config without its data, which is kept under a key of its own. */
export interface ConfigRecord {
  id: string;
  /** Milliseconds since 1970 UTC. */
  created: number;
  updated: number;
  spec: ConfigSpec;
}
