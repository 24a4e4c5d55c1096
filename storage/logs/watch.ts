import { watch } from 'node:fs';

/**
 * Tells that a file may have changed. A change between two calls of `changed` is remembered, so a reader that reads to
 * the end and then waits misses nothing.
 */
export class FileWatch implements Disposable {
  readonly #stop: () => void;
  #dirty = false;
  #wake: (() => void) | undefined;

  /** Throws what inotify says (ENOENT, or ENOSPC at its limit of watches). */
  constructor(path: string) {
    const watcher = watch(path, { persistent: false }, () => this.poke());
    // The file may be deleted with its container while it is followed; the reader learns that from its owner.
    watcher.on('error', () => this.poke());
    this.#stop = () => watcher.close();
  }

  /** As if the file had changed: wakes the reader for another reason. */
  poke(): void {
    this.#dirty = true;
    this.#wake?.();
  }

  /** Resolves at the next change, or at once when there was one since the last call. */
  async changed(): Promise<void> {
    if (!this.#dirty) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    this.#dirty = false;
  }

  [Symbol.dispose](): void {
    this.#stop();
    this.poke();
  }
}
