import { EngineError } from '../../base/errors.ts';
import type { HubRecord, ListOptions, RecordListener, RecordPage, Records } from './port.ts';

type Update = Parameters<Records['update']>;

/** Records that take no change any more once they are closed: a hub that goes on for a moment cannot change them. */
export class GatedRecords implements Records {
  readonly #records: Records;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(records: Records) {
    this.#records = records;
  }

  get(key: string): Promise<HubRecord | undefined> {
    return this.#records.get(key);
  }

  list(prefix: string, options?: ListOptions): Promise<RecordPage> {
    return this.#records.list(prefix, options);
  }

  // Not async: an update that follows without waiting sees this one.
  update(...update: Update): Promise<number> {
    if (this.#isClosed) {
      const text = 'the records of the hub are kept elsewhere now: try again';
      return Promise.reject(new EngineError('unavailable', text));
    }
    const running = this.#records.update(...update);
    this.#running.add(running);
    return running.finally(() => this.#running.delete(running));
  }

  watch(prefix: string, from: number, listener: RecordListener): Disposable {
    return this.#records.watch(prefix, from, listener);
  }

  /** Resolves when all updates have ended that were under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }
}
