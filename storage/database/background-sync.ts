import { closeSync, fsync, openSync } from 'node:fs';
import { errorText } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';

/**
 * Syncs commits that no request waits for to the disk soon after: one fsync(2) of the write-ahead log on a pool thread
 * for all that came since the last one. A power cut then costs milliseconds of state changes, and the event loop
 * nothing.
 *
 * SQLite keeps writing to one and the same `-wal` file for as long as the connection lives, so a descriptor of our own
 * stays good.
 */
export class BackgroundSync implements Disposable {
  readonly #log: Logger;
  readonly #fd: number;
  #state: 'idle' | 'running' | 'again' | 'closed' = 'idle';

  constructor(databasePath: string, log: Logger) {
    this.#log = log;
    this.#fd = openSync(`${databasePath}-wal`, 'r');
  }

  /** Call after a commit that was not synced. */
  request(): void {
    if (this.#state === 'idle') {
      this.#run();
    } else if (this.#state === 'running') {
      this.#state = 'again';
    }
  }

  [Symbol.dispose](): void {
    const isBusy = this.#state === 'running' || this.#state === 'again';
    this.#state = 'closed';
    if (!isBusy) {
      closeSync(this.#fd);
    }
  }

  #run(): void {
    this.#state = 'running';
    fsync(this.#fd, (error) => {
      if (error) {
        this.#log.error({ reason: errorText(error) }, 'the database could not be brought to disk');
      }
      if (this.#state === 'again') {
        this.#run();
      } else if (this.#state === 'closed') {
        closeSync(this.#fd);
      } else {
        this.#state = 'idle';
      }
    });
  }
}
