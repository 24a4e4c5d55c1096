import type { SecretSpec } from '../../api/types/swarm/secret.ts';

/** A secret without its data, which is kept sealed under a key of its own. */
export interface SecretRecord {
  id: string;
  /** Milliseconds since 1970 UTC. */
  created: number;
  updated: number;
  spec: SecretSpec;
}
