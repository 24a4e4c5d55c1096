import type { Clock } from '../../../base/clock.ts';
import type { KeyedMutex } from '../../../base/concurrency/mutex.ts';
import { internal } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { BlobFiles, IncomingFile } from '../files/port.ts';
import type { Offered, OfferedBlob } from './port.ts';

interface Deps {
  files: BlobFiles;
  locks: KeyedMutex;
  clock: Clock;
  /** Whether a record says that a repository has it. */
  isUsed: (digest: string) => boolean;
}

/** Blobs that other hosts bring: for a push that another manager takes, or as they go. */
export class Arrivals {
  readonly #deps: Deps;
  /** Blobs that a push of another manager waits for, and until when they stay without a record. */
  readonly #promised = new Map<string, number>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** What is held or wanted by a push stays for `limits.hubPromisedMs`, also where no record names it. */
  async offered({ digest, isPush }: OfferedBlob): Promise<Offered> {
    const { files, locks, isUsed } = this.#deps;
    if (isPush) {
      this.#promise(digest);
    }
    // The collector may be about to remove it.
    const size = await locks.run(digest, () => files.size(digest));
    return size !== undefined ? 'held' : isPush || isUsed(digest) ? 'wanted' : 'unwanted';
  }

  /** On the disk when it resolves. Throws unavailable where its digest is another one, resource_exhausted. */
  async take(blob: OfferedBlob, pieces: AsyncIterable<Buffer>): Promise<void> {
    await using incoming = await this.#deps.files.createIncoming(blob);
    await receive(incoming, blob.digest, { pieces, locks: this.#deps.locks });
  }

  /** Whether it is to stay although no record names it. */
  isPromised(digest: string): boolean {
    return (this.#promised.get(digest) ?? 0) > this.#deps.clock.monotonicMs();
  }

  #promise(digest: string): void {
    const nowMs = this.#deps.clock.monotonicMs();
    // To its end: those that are over first stand in front.
    this.#promised.delete(digest);
    this.#promised.set(digest, nowMs + limits.hubPromisedMs);
    for (const [oldest, untilMs] of this.#promised) {
      if (untilMs > nowMs) {
        break;
      }
      this.#promised.delete(oldest);
    }
  }
}

/** Brings all of a blob to the disk. Throws what keeps it from being there whole; then nothing of it is left. */
export async function receive(
  incoming: IncomingFile,
  digest: string,
  { pieces, locks }: { pieces: AsyncIterable<Buffer>; locks: KeyedMutex },
): Promise<void> {
  try {
    for await (const piece of pieces) {
      await incoming.append(piece);
    }
    await locks.run(digest, () => incoming.publish());
  } catch (error) {
    await incoming.fail(error instanceof Error ? error : internal(String(error)));
    throw error;
  }
}
