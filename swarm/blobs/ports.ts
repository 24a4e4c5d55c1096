import type { Readable } from 'node:stream';
import type { BlobOffer, OfferAnswer } from '../protocol/blobs.ts';

/** What the hub of this host holds, for other nodes. */
export interface BlobStore {
  /** Undefined where it does not hold it, or where there is no hub. */
  open(digest: string): Promise<HeldBlob | undefined>;
  /** What is `held` or `wanted` by a push stays for a while, also where no record names it. Throws unavailable. */
  offered(offer: BlobOffer): Promise<OfferAnswer>;
  /** All of a blob that was wanted, on the disk when it resolves. Throws unavailable where it has another digest. */
  take(offer: BlobOffer, pieces: AsyncIterable<Buffer>): Promise<void>;
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
  /** Whether what `read` brought is that blob: who gave other bytes is asked last for a while. */
  judge(digest: string, isRight: boolean): void;
  /** Ids of the other managers, also of those that do not answer. */
  others(): readonly string[];
  /** Whether one of them takes a blob. Throws unavailable. */
  offer(manager: string, offer: BlobOffer, signal: AbortSignal): Promise<OfferAnswer>;
  /** The manager holds it when it resolves. */
  give(manager: string, offer: BlobOffer, bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void>;
}
