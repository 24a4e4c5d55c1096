import type { Platform } from './op.ts';

/** What a build has turned out to be made of. */
export type UsedSource =
  /** `digest`: of its manifest, or of its configuration where no registry has it. */
  | { kind: 'image'; reference: string; platform: Platform; digest: string }
  /** Of the client. */
  | { kind: 'layout'; store: string; platform: Platform; digest: string }
  | { kind: 'git'; remote: string; ref: string; commit: string }
  | { kind: 'http'; url: string; digest: string }
  /** A directory of the client's session, or what it sends as a stream. */
  | { kind: 'local'; name: string }
  /** A tree of a build under way. */
  | { kind: 'held'; id: string };
