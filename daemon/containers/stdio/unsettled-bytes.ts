import { limits } from '../../base/limits.ts';

/** Output that the log gave but the channel did not is of the time before the channel once it is so old. */
const AHEAD_MS_MAX = 1_000;

/**
 * Bytes of one stream that the channel gave and the log has not, the oldest first; or how far the log is ahead. At most
 * `limits.attachBufferBytesMax` are kept, of the rest the number.
 */
export class Unsettled {
  readonly #monotonicMs: () => number;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** The oldest, which a client that does not read has made too many to be kept. */
  #forgotten = 0;
  /** Of all of them, those that had come when the look began. */
  #marked = 0;
  #ahead = 0;
  #aheadAtMs = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** The channel gave `data`. */
  arrive(data: Buffer): void {
    if (this.#monotonicMs() - this.#aheadAtMs > AHEAD_MS_MAX) {
      this.#ahead = 0;
    }
    const known = Math.min(this.#ahead, data.length);
    this.#ahead -= known;
    this.#push(data.subarray(known));
    const excess = this.#keptBytes - limits.attachBufferBytesMax;
    if (excess > 0) {
      this.#takeKept(excess);
      this.#forgotten += excess;
    }
  }

  /** A look begins. */
  mark(): void {
    this.#marked = this.#forgotten + this.#keptBytes;
  }

  /**
   * The log gave `data`. Returns what the channel gave before that, and the log did not: while room comes and goes, a
   * short record may be taken after a long one was refused.
   */
  settle(data: Buffer): Buffer {
    const refused = this.#drop(this.#refusedBefore(data));
    const dropped = this.#drop(data.length).bytes;
    if (dropped < data.length) {
      this.#ahead += data.length - dropped;
      this.#aheadAtMs = this.#monotonicMs();
    }
    return Buffer.concat(refused.kept);
  }

  /** Bytes that are kept in front of `data`; 0 also where it is not found as a whole. */
  #refusedBefore(data: Buffer): number {
    const [first] = this.#kept;
    if (this.#forgotten > 0 || first === undefined) {
      return 0;
    }
    const length = Math.min(first.length, data.length);
    if (first.compare(data, 0, length, 0, length) === 0) {
      return 0;
    }
    return Math.max(0, Buffer.concat(this.#kept).indexOf(data));
  }

  /** What had come when the look began and the log has not given: it will not. Of the forgotten, nothing. */
  takeMarked(): Buffer {
    return Buffer.concat(this.#drop(this.#marked).kept);
  }

  /** Lets go of the oldest `bytes`, or of all. */
  #drop(bytes: number): { bytes: number; kept: Buffer[] } {
    const forgotten = Math.min(bytes, this.#forgotten);
    this.#forgotten -= forgotten;
    const before = this.#keptBytes;
    const kept = this.#takeKept(Math.min(bytes - forgotten, before));
    const dropped = forgotten + before - this.#keptBytes;
    this.#marked = Math.max(0, this.#marked - dropped);
    return { bytes: dropped, kept };
  }

  #push(data: Buffer): void {
    if (data.length > 0) {
      this.#kept.push(data);
      this.#keptBytes += data.length;
    }
  }

  /** The oldest `bytes` of those that are kept. */
  #takeKept(bytes: number): Buffer[] {
    const taken: Buffer[] = [];
    this.#keptBytes -= bytes;
    for (let left = bytes; left > 0;) {
      const [first] = this.#kept;
      if (first === undefined) {
        break;
      }
      taken.push(first.subarray(0, left));
      if (first.length > left) {
        this.#kept[0] = first.subarray(left);
      } else {
        this.#kept.shift();
      }
      left -= first.length;
    }
    return taken;
  }
}
