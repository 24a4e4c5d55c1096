/** Hubs of other hosts that have the same records. */
export interface BlobPeers {
  /** Whether one of them holds it. */
  has(digest: string, signal: AbortSignal): Promise<boolean>;
  /** All of a blob, whose digest is to be checked. Throws unavailable where nobody gives all of it. */
  read(blob: { digest: string; size: number }, signal: AbortSignal): AsyncIterable<Buffer>;
  /** Whether what `read` brought is that blob: who gave other bytes is asked last for a while. */
  judge(digest: string, isRight: boolean): void;
  /** Ids of the hosts, also of those that do not answer. */
  others(): readonly string[];
  /** Whether one of them takes a blob. Throws unavailable. */
  offer(host: string, offer: OfferedBlob, signal: AbortSignal): Promise<Offered>;
  /** The host holds it when it resolves. */
  give(host: string, offer: OfferedBlob, bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void>;
}

export interface OfferedBlob {
  digest: string;
  size: number;
  /** A push waits until it is held: no record names it yet. Otherwise it is taken where a record does. */
  isPush: boolean;
}

/** `unwanted`: no record names it. `no-hub`: the host has none. */
export type Offered = 'held' | 'wanted' | 'unwanted' | 'no-hub';
