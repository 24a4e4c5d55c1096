import type { Readable, Writable } from 'node:stream';
import type { OutputChunk } from '../../../runtime/monitor/conmon-stdio.ts';

/** One client's connection to a container's stdio. */
export interface StdioChannel {
  /** Ends when the container's output is over. Not pulling it stops reading (after `limits.attachBufferBytesMax`). */
  output: AsyncIterable<OutputChunk>;
  /** Resolves when more may be written. */
  write(data: Buffer): Promise<void>;
  /** Half-close: the container reads end of input where its stdin mode says so. */
  endInput(): void;
  close(): void;
}

/** The stdio of one run of a container, for the engine itself: bytes as they are, without frames and detach keys. */
export interface OwnStdio {
  /** Resolves when the run has begun; undefined = there is none. */
  channel: Promise<StdioChannel | undefined>;
  /** Safe to call more than once. */
  leave(): void;
}

export interface ExecProcess {
  pid: number;
  stdin: Writable | null;
  /** With a terminal everything arrives here. */
  stdout: Readable;
  stderr: Readable | null;
  resize(height: number, width: number): void;
  /** Exit code once the process ended and its output is drained. */
  exited: Promise<number>;
  kill(signal: number): void;
  /** Kills it with everything it started. Resolves when all have been sent the signal. */
  killTree(): Promise<void>;
}
