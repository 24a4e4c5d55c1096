/** How an event is kept in the store of a swarm. */
export interface Kept {
  /** Which of the changes of its update it is. */
  n: number;
  body: string;
}

/** More than one update has changes. */
export const REVISIONS_OF_UPDATE = 128;

/** All changes of one update have its revision in the store; here each has its own, the same on all managers. */
export function revisionOf(update: number, n: number): number {
  return update * REVISIONS_OF_UPDATE + n;
}

export function keptOf(value: unknown): Kept {
  // `SharedEvents` and moves alone write them.
  return value as Kept;
}
