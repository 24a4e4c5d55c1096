/**
 * Which part of a data root is affected. `left-over` is no damage: nothing refers to it, and the next start removes it.
 */
export type FindingKind =
  | 'database'
  | 'record'
  | 'layer'
  | 'image'
  | 'name'
  | 'container'
  | 'volume'
  | 'left-over';

/** What became of a finding that was to be repaired. */
export interface Repaired {
  /** False: the administrator has to do what `text` says. */
  isWhole: boolean;
  /** What was done, or has to be. */
  text: string;
}

/** One thing that is wrong in a data root. */
export interface Finding {
  kind: FindingKind;
  /** By its full name: `layer sha256:12ab... of docker.io/library/busybox:latest`. */
  subject: string;
  /** What is wrong with it: ends the sentence that `subject` begins. */
  problem: string;
  /** What a repair would do, or the administrator has to do. */
  remedy: string;
  /** undefined: nothing here can repair it. */
  repair?: () => Repaired | Promise<Repaired>;
}

/** The answer of a repair that leaves nothing to do. */
export function whole(text: string): Repaired {
  return { isWhole: true, text };
}

export function remains(text: string): Repaired {
  return { isWhole: false, text };
}
