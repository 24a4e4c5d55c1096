import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, ifThere } from '../../daemon/base/errors.ts';
import { FULL_ID } from '../../daemon/base/ids.ts';
import type { Logger } from '../../daemon/base/logger.ts';

/** What conmon left of a container that ended. */
export interface ExitRecord {
  exitCode: number;
  finishedAtNano: bigint;
}

/**
 * The exit files, `<directory>/<id>` with the exit code as text: written by conmon (atomically) when a container has
 * ended, also while no daemon runs, and removed by us when the exit is in the database. Their modification time is the
 * time of the exit.
 */
export class ExitRecords {
  readonly #directory: string;
  readonly #log: Logger;

  constructor(deps: { directory: string; log: Logger }) {
    this.#directory = deps.directory;
    this.#log = deps.log;
  }

  read(id: string): ExitRecord | undefined {
    const file = join(this.#directory, id);
    const found = ifThere(() => ({
      text: readFileSync(file, 'utf8'),
      finishedAtNano: statSync(file, { bigint: true }).mtimeNs,
    }));
    if (found === undefined) {
      return undefined;
    }
    const { text, finishedAtNano } = found;
    const code = Number(text.trim());
    if (text.trim() === '' || !Number.isInteger(code)) {
      // A full disk or a power cut: the container has ended, that much is sure.
      this.#log.error({ container: id, text }, 'exit file is unreadable, taking the container as killed');
      return { exitCode: KILLED, finishedAtNano };
    }
    // conmon writes -1 for a status it cannot read.
    return { exitCode: code < 0 ? 255 : code & 0xff, finishedAtNano };
  }

  forget(id: string): void {
    rmSync(join(this.#directory, id), { force: true });
  }

  /** Removes what a writer that was killed half-way has left of a record. */
  removeDrafts(id: string): void {
    for (const name of this.#names()) {
      // conmon writes to `<id>.XXXXXX` and renames.
      if (name.startsWith(`${id}.`) || name === draftName(id)) {
        rmSync(join(this.#directory, name), { force: true });
      }
    }
  }

  /** Ids with a recorded exit. */
  list(): string[] {
    return this.#names().filter((name) => FULL_ID.test(name));
  }

  /**
   * Writes the exit that a killed monitor could not: the true code is lost with it, so 137 and the time of noticing.
   * A record that is there already stays.
   */
  recordLost(id: string): void {
    const draft = join(this.#directory, draftName(id));
    this.#ensure();
    writeFileSync(draft, String(KILLED), { mode: 0o600 });
    try {
      linkSync(draft, join(this.#directory, id));
      this.#log.warn({ container: id }, 'monitor was killed, the exit code of the container is lost');
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') {
        throw error;
      }
    } finally {
      rmSync(draft, { force: true });
    }
  }

  /** Calls back with the id of each record that appears. The kernel may drop notifications: `list` has the truth. */
  watch(listener: (id: string) => void): Disposable {
    let watcher: FSWatcher | undefined;
    let isOver = false;
    const begin = (): void => {
      watcher?.close();
      this.#ensure();
      watcher = watch(this.#directory, { persistent: false }, (_event, name) => {
        if (name !== null && FULL_ID.test(name)) {
          listener(name);
        } else if (!isOver && !existsSync(this.#directory)) {
          // Taken away: monitors write to this path, and would find nowhere to record an exit.
          begin();
        }
      });
      watcher.on('error', (error) => this.#log.error({ err: error }, 'watching for exits failed'));
    };
    begin();
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        watcher?.close();
      },
    };
  }

  #names(): string[] {
    this.#ensure();
    return readdirSync(this.#directory);
  }

  #ensure(): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
  }
}

function draftName(id: string): string {
  return `.lost-${id}`;
}

/** 128 + SIGKILL. */
const KILLED = 137;
