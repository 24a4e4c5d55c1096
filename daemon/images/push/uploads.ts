import type { LayerRow } from '../../../storage/database/rows.ts';
import { invariant, isEngineError } from '../../base/errors.ts';
import type { Semaphore } from '../../base/concurrency/semaphore.ts';
import type { LayerPush, PushedBlob } from './layer-push.ts';

/** The layers' uploads side by side. Disposing stops them and waits until nothing reads a layer any more. */
export class Uploads implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #all: Promise<readonly [string, PushedBlob]>[];
  /** Blobs by diff ID. Rejects with the failure of the layer that failed by itself. */
  readonly result: Promise<ReadonlyMap<string, PushedBlob>>;

  constructor(pushes: readonly LayerPush[], slots: Semaphore, signal: AbortSignal) {
    const any = AbortSignal.any([signal, this.#stop.signal]);
    this.#all = pushes.map(async (push) => {
      try {
        return [push.layer.diffId, await push.run(slots, any)] as const;
      } catch (error) {
        this.#stop.abort();
        throw error;
      }
    });
    this.result = this.#settle();
    // The push awaits it; a failure before that is not unhandled.
    this.result.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#all);
  }

  async #settle(): Promise<ReadonlyMap<string, PushedBlob>> {
    const results = await Promise.allSettled(this.#all);
    const failures = results.filter((result) => result.status === 'rejected');
    const [first] = failures;
    if (first !== undefined) {
      throw (failures.find(({ reason }) => !isEngineError(reason, 'canceled')) ?? first).reason;
    }
    return new Map(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
  }
}

/** Of one of the layers that were pushed. */
export function blobOf(blobs: ReadonlyMap<string, PushedBlob>, { diffId }: LayerRow): PushedBlob {
  const blob = blobs.get(diffId);
  invariant(blob !== undefined, `layer ${diffId} was not pushed`);
  return blob;
}
