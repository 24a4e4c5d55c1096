import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { ImagesDeps } from '../deps.ts';

/** In the table `meta`: the boot that placed them, and the lowest id of them. */
const KEY = 'layers:unsynced';

/**
 * Layers of builds that have a row before they are on the disk. A build makes many of them, one on the other, and only
 * an image of them must survive a power cut: it waits for one sync of all (`settled`). Where nobody waits it comes a
 * moment later. A mark in the database says from which id on the files may be incomplete when the machine went down; it
 * is stored with the row. The daemon's own end takes nothing from them.
 */
export class UnsyncedLayers {
  readonly #deps: Pick<ImagesDeps, 'database' | 'layers' | 'journal' | 'clock' | 'log' | 'bootId'>;
  #first: number | undefined;
  #added = 0;
  #running: Promise<void> | undefined;
  #timer: Disposable | undefined;

  constructor(deps: Pick<ImagesDeps, 'database' | 'layers' | 'journal' | 'clock' | 'log' | 'bootId'>) {
    this.#deps = deps;
  }

  /**
   * At start: the lowest id of layers whose files may be incomplete, because the machine went down before they were
   * synced. Undefined: all are whole.
   */
  restore(): number | undefined {
    const [bootId, first = ''] = (this.#deps.database.meta.get(KEY) ?? '').split(' ');
    if (first === '') {
      return undefined;
    }
    if (bootId !== this.#deps.bootId) {
      return Number(first);
    }
    this.added(Number(first));
    return undefined;
  }

  /** Inside the transaction that stores the row of this layer. */
  mark(id: number): void {
    if (this.#first === undefined || id < this.#first) {
      this.#deps.database.meta.set(KEY, `${this.#deps.bootId} ${id}`);
    }
  }

  /** After it. */
  added(id: number): void {
    this.#added += 1;
    this.#first = Math.min(id, this.#first ?? id);
    this.#syncLater();
  }

  /** Inside a transaction that has removed them. */
  clear(): void {
    this.#deps.database.meta.set(KEY, '');
  }

  /** Resolves when all layers that have a row by now are on the disk; at once where they are. */
  async settled(): Promise<void> {
    // The sync that runs may have begun before the last of them.
    await this.#running;
    if (this.#first !== undefined) {
      this.#running ??= this.#sync().finally(() => (this.#running = undefined));
      await this.#running;
    }
  }

  #syncLater(): void {
    this.#timer ??= this.#deps.clock.setTimeout(() => {
      this.settled().catch((error: unknown) => {
        this.#deps.log.error({ err: error }, 'layers of builds could not be synced, which is tried again');
        this.#syncLater();
      });
    }, limits.buildLayersSyncMs);
  }

  async #sync(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const added = this.#added;
    failpoint('images.layers.sync');
    await this.#deps.layers.sync();
    if (added === this.#added) {
      this.#deps.journal.commit(() => this.clear());
      this.#first = undefined;
    }
  }
}
