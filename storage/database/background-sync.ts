import { closeSync, fdatasync, openSync } from 'node:fs';
import { errorText, internal } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';

interface Waiting {
  resolve: () => void;
  reject: (error: Error) => void;
}

/**
 * Syncs commits to the disk soon after: one fdatasync(2) of the write-ahead log on a pool thread for all that came
 * since the last one. Where nobody waits for it a power cut costs milliseconds of state changes; who waits does so
 * together with all others. The event loop is never held up.
 *
 * fsync(2) would bring the time of the file's last change along, by a commit of the file system's journal each time,
 * and what others have written goes with that: 500 MB that were written beside it took three times as long. What it
 * takes to find the data again, its place and the size of the file, fdatasync(2) brings too.
 *
 * SQLite keeps writing to one and the same `-wal` file for as long as the connection lives, so a descriptor of our
 * own stays good.
 */
export class BackgroundSync implements Disposable {
  readonly #log: Logger;
  readonly #fd: number;
  #state: 'idle' | 'running' | 'again' | 'closed' = 'idle';
  /** For the sync that runs, which began after what they wait for was committed. */
  #running: Waiting[] = [];
  /** For the next one. */
  #next: Waiting[] = [];

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

  /** Resolves when all that was committed is on the disk; at once where it is. Throws internal. */
  synced(): Promise<void> {
    if (this.#state === 'idle' || this.#state === 'closed') {
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      // The sync that runs may have begun before the last commit.
      (this.#state === 'again' ? this.#next : this.#running).push({ resolve, reject });
    });
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
    fdatasync(this.#fd, (error) => {
      if (error) {
        this.#log.error({ reason: errorText(error) }, 'the database could not be brought to disk');
      }
      this.#tell(error);
      if (this.#state === 'again') {
        this.#run();
      } else if (this.#state === 'closed') {
        closeSync(this.#fd);
        // The connection was closed meanwhile, and that brings everything to the disk.
        this.#tell(null);
      } else {
        this.#state = 'idle';
      }
    });
  }

  #tell(error: NodeJS.ErrnoException | null): void {
    const waiting = this.#running;
    this.#running = this.#next;
    this.#next = [];
    for (const { resolve, reject } of waiting) {
      if (error === null) {
        resolve();
      } else {
        reject(internal(`the database could not be brought to disk: ${errorText(error)}`, { cause: error }));
      }
    }
  }
}
