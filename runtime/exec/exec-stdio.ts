import { Readable } from 'node:stream';
import type { Writable } from 'node:stream';

/** How the streams of an exec session reach us. */
export interface ExecStdio {
  /** Null = the process reads an empty input. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  /** Null with a terminal: everything arrives in `stdout`. */
  readonly stderr: Readable | null;
  /** Asked once the process has ended; resolves when what it wrote is in the streams and these have ended. */
  drain(): Promise<void>;
}

/** A session whose output is not read: conmon drops it. */
export function noStdio(): ExecStdio {
  return { stdin: null, stdout: Readable.from([]), stderr: null, drain: () => Promise.resolve() };
}
