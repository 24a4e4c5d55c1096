import { errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { persistently } from '../../base/concurrency/retry.ts';
import type { LayerRow } from '../../../storage/database/rows.ts';
import type { ImagesDeps } from '../deps.ts';
import type { ImageIndex } from '../image-index.ts';
import type { LayerPins } from '../layer-pins.ts';

/**
 * Removes layers that nothing uses any more: the rows in the caller's durable transaction, the directories after it. A
 * crash in between leaves directories without rows, which the next start sweeps.
 */
export class LayerCollector {
  readonly #deps: ImagesDeps;
  readonly #index: ImageIndex;
  readonly #pins: LayerPins;

  constructor(deps: ImagesDeps & { index: ImageIndex; pins: LayerPins }) {
    this.#deps = deps;
    this.#index = deps.index;
    this.#pins = deps.pins;
  }

  /** Inside a transaction: removes the rows, top layers first, and answers them. */
  removeRows(): LayerRow[] {
    const { layers } = this.#deps.database;
    const removed: LayerRow[] = [];
    for (;;) {
      // A parent is free only once its last child is gone, so look again until nothing more is found.
      const free = layers.unreferenced().filter((layer) => !this.#pins.isPinned(layer.id));
      if (free.length === 0) {
        return removed;
      }
      for (const layer of free) {
        layers.remove(layer.id);
        removed.push(layer);
      }
    }
  }

  /** After the commit: forgets the layers and removes their directories. A failure is left to the next sweep. */
  async removeDirectories(removed: readonly LayerRow[]): Promise<void> {
    for (const layer of removed) {
      this.#index.removeLayer(layer.id);
    }
    for (const layer of removed) {
      try {
        await persistently(this.#deps.clock, () => this.#deps.layers.remove(layer.id));
      } catch (error) {
        this.#deps.log.error(
          { layer: layer.diffId, reason: errorText(error) },
          'layer directory not removed; the next start removes it',
        );
      }
    }
  }

  /** Removes what was kept only because it was pinned. */
  async collect(): Promise<void> {
    const free = this.#deps.database.layers.unreferenced().some((layer) => !this.#pins.isPinned(layer.id));
    if (!free) {
      return;
    }
    const removed = this.#deps.journal.commit(
      () => {
        const rows = this.removeRows();
        failpoint('images.collect.commit');
        return rows;
      },
      { durable: true },
    );
    await this.removeDirectories(removed);
  }
}
