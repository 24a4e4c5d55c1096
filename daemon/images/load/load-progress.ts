import type { ProgressMessage } from '../../../api/types/image.ts';
import { progressBar } from '../progress.ts';
import { watch } from '../watch.ts';

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

  /** Messages while `work` runs, and the last ones after it. Failures of `work` are left to the code that awaits it. */
  async *during(work: Promise<unknown>, quiet: boolean): AsyncGenerator<ProgressMessage> {
    if (quiet) {
      await Promise.allSettled([work]);
      return;
    }
    yield* watch(work, () => this.#changes());
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
