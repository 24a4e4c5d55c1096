/**
 * Layers that an operation under way uses (a load that found them, a save that reads them, a create that has not stored
 * its container yet). A pinned layer is not removed, even if no row refers to it.
 */
export class LayerPins {
  readonly #counts = new Map<number, number>();

  /** Pins until disposed; disposing twice is harmless. */
  pin(layerIds: readonly number[]): Disposable {
    let held = [...layerIds];
    for (const id of held) {
      this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    }
    return {
      [Symbol.dispose]: () => {
        for (const id of held) {
          const count = (this.#counts.get(id) ?? 1) - 1;
          if (count === 0) {
            this.#counts.delete(id);
          } else {
            this.#counts.set(id, count);
          }
        }
        held = [];
      },
    };
  }

  isPinned(layerId: number): boolean {
    return this.#counts.has(layerId);
  }
}
