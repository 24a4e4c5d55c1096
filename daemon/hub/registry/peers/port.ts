/** Hubs of other hosts that have the same records. */
export interface BlobPeers {
  /** Whether one of them holds it. */
  has(digest: string, signal: AbortSignal): Promise<boolean>;
  /** All of a blob, whose digest is to be checked. Throws unavailable where nobody gives all of it. */
  read(blob: { digest: string; size: number }, signal: AbortSignal): AsyncIterable<Buffer>;
}
