/** What many operations are asked with, and answer. Types only. */
import type { Readable } from 'node:stream';

/** A parsed `filters` parameter: key -> values, both client forms folded into one. Keys are not yet checked. */
export type Filters = ReadonlyMap<string, readonly string[]>;

export interface LogsOptions {
  follow: boolean;
  stdout: boolean;
  stderr: boolean;
  /** UNIX time in nanoseconds; undefined = unfiltered. */
  since?: bigint;
  until?: bigint;
  timestamps: boolean;
  details: boolean;
  /** Lines from the end; undefined = all. */
  tail?: number;
  signal: AbortSignal;
}

/** Bytes ready for the client: raw when `tty`, else 8-byte frames (stream type, 0, 0, 0, length as uint32 BE). */
export interface ByteStream {
  tty: boolean;
  bytes: Readable;
}
