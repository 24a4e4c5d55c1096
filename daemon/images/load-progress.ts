import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgressMessage } from '../../api/types/image.ts';
import { progressBar } from '../../storage/tarballs/progress.ts';

/** Time between two progress messages of a layer. */
const INTERVAL_MS = 100;

interface Unpacking {
  total: number;
  bytesRead: () => number;
  shown: number;
  finished: boolean;
}

/** How far the layers of one image are, as the messages that clients draw bars from. */
export class LoadProgress {
  readonly #layers = new Map<string, Unpacking>();

  begin(id: string, total: number, bytesRead: () => number): void {
    this.#layers.set(id, { total, bytesRead, shown: -1, finished: false });
  }

  finish(id: string): void {
    const layer = this.#layers.get(id);
    if (layer !== undefined) {
      layer.finished = true;
    }
  }

  /** Messages while `work` runs, and the last ones after it. Failures of `work` are left to whoever awaits it. */
  async *during(work: Promise<unknown>, quiet: boolean): AsyncGenerator<ProgressMessage> {
    const state = { done: false };
    const finished = (async () => {
      await Promise.allSettled([work]);
      state.done = true;
    })();
    if (quiet) {
      await finished;
      return;
    }
    while (!state.done) {
      const stop = new AbortController();
      // An aborted sleep rejects; that is its end, not a failure.
      const tick = sleep(INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {});
      await Promise.race([finished, tick]);
      stop.abort();
      yield* this.#changes();
    }
  }

  #changes(): ProgressMessage[] {
    const messages: ProgressMessage[] = [];
    for (const [id, layer] of this.#layers) {
      const current = layer.finished ? layer.total : Math.min(layer.bytesRead(), layer.total);
      if (current !== layer.shown) {
        layer.shown = current;
        messages.push({
          status: 'Loading layer',
          progressDetail: { current, total: layer.total },
          progress: progressBar(current, layer.total),
          id,
        });
      }
    }
    return messages;
  }
}
