import type { Readable } from 'node:stream';

/** What the hub of this host holds, for other managers. */
export interface BlobStore {
  /** Undefined where it does not hold it, or where there is no hub. */
  open(digest: string): Promise<HeldBlob | undefined>;
}

export interface HeldBlob extends AsyncDisposable {
  size: number;
  /** Bytes from `start` to `end`, both included. It closes the blob when it ends. */
  stream(start: number, end: number): Readable;
}

/** What the hubs of the other managers hold. */
export interface ManagerBlobs {
  /** Whether one of them holds it. */
  has(digest: string, signal: AbortSignal): Promise<boolean>;
  /**
   * All of a blob; where a manager breaks off, the next one goes on. Its digest is for the reader to check. Throws
   * unavailable with what each manager said.
   */
  read(blob: { digest: string; size: number }, signal: AbortSignal): AsyncIterable<Buffer>;
}
