import type { Write } from '../objects/parts.ts';
import type { Random } from '../objects/random.ts';
import type { ClusterState } from './state/cluster-state.ts';

/** What decisions read. Nothing of it is changed by them. */
export interface Circumstances {
  state: ClusterState;
  /** Milliseconds since 1970 UTC. */
  now: number;
  random: Random;
}

/** What a decision comes to. */
export interface Decision {
  writes: Write[];
  /** When it wants to be asked again although nothing has changed, in milliseconds since 1970 UTC. */
  again?: number | undefined;
}

/** The earlier of two moments, where there are any. */
export function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
