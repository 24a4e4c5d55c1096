import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** How often a file is looked at where the kernel has no watch left to give. */
const POLL_MS = 200;

/**
 * Tells that a file may have changed. A change between two calls of `changed` is remembered, so a reader that reads to
 * the end and then waits misses nothing.
 */
export class FileWatch implements Disposable {
  readonly #stop: () => void;
  #dirty = false;
  #wake: (() => void) | undefined;

  constructor(path: string) {
    this.#stop = notify(path, () => this.poke());
  }

  /** As if the file had changed: wakes the reader for another reason. */
  poke(): void {
    this.#dirty = true;
    this.#wake?.();
  }

  /** Resolves at the next change, at once when there was one since the last call, or when the time is over. */
  async changed(timeoutMs?: number): Promise<void> {
    if (!this.#dirty) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs).unref();
      });
      clearTimeout(timer);
      this.#wake = undefined;
    }
    this.#dirty = false;
  }

  [Symbol.dispose](): void {
    this.#stop();
    this.poke();
  }
}

/** Calls `onChange` for every change, and perhaps more often. Returns how to stop. */
function notify(path: string, onChange: () => void): () => void {
  try {
    // Its directory: the name may come to stand for another file.
    const own = basename(path);
    const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      // Other files lie there too; what is noted about a delivery must not wake the delivery.
      if (name === null || name === own) {
        onChange();
      }
    });
    // The file may be deleted with its container while it is followed; the reader learns that from its owner.
    watcher.on('error', onChange);
    return () => watcher.close();
  } catch {
    // ENOSPC or EMFILE, inotify's limits for this user: looking regularly is slower and as complete.
    const timer = setInterval(onChange, POLL_MS).unref();
    return () => clearInterval(timer);
  }
}
