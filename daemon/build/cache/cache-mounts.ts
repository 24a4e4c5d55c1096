import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildRecordRow, BuildRecordTable } from '../../../storage/database/rows.ts';
import type { Clock } from '../../base/clock.ts';
import { Semaphore } from '../../base/concurrency/semaphore.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Logger } from '../../base/logger.ts';
import { nowMs } from './records.ts';

export interface CacheMountsDeps {
  table: BuildRecordTable;
  /** A directory of ours: one below it for each cache. */
  directory: string;
  archives: {
    remove(path: string): Promise<void>;
    sizes(directories: readonly string[]): Promise<(number | null)[]>;
  };
  clock: Clock;
  log: Logger;
}

/** What a command asks for. */
export interface CacheRequest {
  id: string;
  sharing: 'shared' | 'private' | 'locked';
  owner: { uid: number; gid: number };
  mode: number;
  /** Fills a new one. */
  seed?: (directory: string) => Promise<void>;
}

/** A directory that stays from build to build, until it is given back. */
export interface UsedCache extends AsyncDisposable {
  path: string;
}

interface Use {
  count: number;
  isLocked: boolean;
  /** Its record is gone: whoever comes makes a new one, and the last one takes the directory away. */
  isLeft: boolean;
  waiting: (() => void)[];
  /** Who comes while it is filled waits. */
  filling: Semaphore;
}

export const CACHE_MOUNT = 'exec.cachemount';

/**
 * Directories of cache mounts, `<directory>/<record>/data`, by their ids: shared by all that ask at once, one for each
 * (`private`), or one after another (`locked`).
 */
export class CacheMounts {
  readonly #deps: CacheMountsDeps;
  readonly #uses = new Map<string, Use>();
  /** Records of directories that are being made. */
  readonly #new = new Map<string, BuildRecordRow>();

  constructor(deps: CacheMountsDeps) {
    this.#deps = deps;
  }

  /** Removes directories that no record names, and records without one: what a crash left. Once at start. */
  async sweep(): Promise<void> {
    const { directory, table, archives } = this.#deps;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const lost = new Set(table.all().flatMap(({ id, type }) => (type === CACHE_MOUNT ? [id] : [])));
    for (const name of await readdir(directory)) {
      if (!lost.delete(name)) {
        await archives.remove(join(directory, name));
      }
    }
    lost.forEach((id) => table.remove(id));
  }

  isInUse(recordId: string): boolean {
    return this.#uses.has(recordId);
  }

  /** Waits where another has it locked. */
  async use(request: CacheRequest, signal: AbortSignal): Promise<UsedCache> {
    for (let number = 0; ;) {
      const key = `mount ${request.id}${number === 0 ? '' : ` ${number}`}`;
      const row = this.#deps.table.byKey(key) ?? this.#new.get(key) ?? this.#newRow(key, request.id);
      const use = this.#uses.get(row.id);
      if (use !== undefined && request.sharing === 'private') {
        number += 1;
        continue;
      }
      const entered = await this.#enter(row, request, signal);
      if (entered !== undefined) {
        return entered;
      }
    }
  }

  /** Whoever asks for one of these from here on gets an empty one. Those who have one keep it until they are done. */
  async renew(ids: readonly string[]): Promise<void> {
    const keys = ids.map((id) => `mount ${id}`);
    const isOfOne = ({ type, key }: BuildRecordRow): boolean =>
      type === CACHE_MOUNT && (keys.includes(key) || keys.includes(key.replace(/ \d+$/, '')));
    for (const row of keys.length === 0 ? [] : this.#deps.table.all().filter(isOfOne)) {
      this.#deps.table.remove(row.id);
      const use = this.#uses.get(row.id);
      if (use === undefined) {
        await this.remove(row.id);
      } else {
        use.isLeft = true;
      }
    }
  }

  /** Takes its directory away; its record is gone. */
  async remove(recordId: string): Promise<void> {
    failpoint('build.caches.remove');
    await this.#deps.archives.remove(join(this.#deps.directory, recordId));
  }

  /** Undefined: it is to be asked for again. */
  async #enter(
    row: BuildRecordRow,
    request: CacheRequest,
    signal: AbortSignal,
  ): Promise<UsedCache | undefined> {
    const isLocked = request.sharing === 'locked';
    for (let use = this.#uses.get(row.id); use !== undefined; use = this.#uses.get(row.id)) {
      if (!isLocked && !use.isLocked) {
        break;
      }
      await turn(use, signal);
      if (use.isLeft) {
        return undefined;
      }
    }
    signal.throwIfAborted();
    const use = this.#uses.get(row.id) ?? newUse(isLocked);
    use.count += 1;
    this.#uses.set(row.id, use);
    try {
      const path = await this.#make(row, request, { use, signal });
      return { path, [Symbol.asyncDispose]: () => this.#leave(row, use) };
    } catch (error) {
      await this.#leave(row, use);
      throw error;
    }
  }

  async #make(
    row: BuildRecordRow,
    request: CacheRequest,
    { use, signal }: { use: Use; signal: AbortSignal },
  ): Promise<string> {
    const { table, directory, archives, clock } = this.#deps;
    const home = join(directory, row.id);
    try {
      const path = await use.filling.run(() => makeData(home, request, archives), signal);
      failpoint('build.caches.make');
      if (!use.isLeft && table.byKey(row.key) === undefined) {
        // The directory comes before its row.
        table.insert(row);
      }
      table.use(row.id, nowMs(clock));
      return path;
    } catch (error) {
      // Another one may have it, too.
      if (use.count === 1 && table.byKey(row.key) === undefined) {
        await archives.remove(home);
      }
      throw error;
    } finally {
      this.#new.delete(row.key);
    }
  }

  #newRow(key: string, id: string): BuildRecordRow {
    const now = nowMs(this.#deps.clock);
    const row: BuildRecordRow = {
      id: randomBytes(16).toString('hex'),
      key,
      type: CACHE_MOUNT,
      layerId: null,
      sizeBytes: 0,
      createdMs: now,
      lastUsedMs: now,
      usageCount: 0,
      description: `cached mount ${id}`,
    };
    this.#new.set(key, row);
    return row;
  }

  /** Never throws: what stays is removed at the next start. */
  async #removeLeft(recordId: string): Promise<void> {
    try {
      await this.remove(recordId);
    } catch (error) {
      this.#deps.log.error({ cache: recordId, reason: errorText(error) }, 'a cache mount was not removed');
    }
  }

  async #leave({ id }: BuildRecordRow, use: Use): Promise<void> {
    const { table, archives, directory, log } = this.#deps;
    try {
      const [bytes] = await archives.sizes([join(directory, id)]);
      table.resize(id, bytes ?? 0);
    } catch (error) {
      log.error({ cache: id, reason: errorText(error) }, 'the size of a cache mount is not known');
    }
    use.count -= 1;
    if (use.count === 0) {
      this.#uses.delete(id);
      if (use.isLeft) {
        await this.#removeLeft(id);
      }
      use.waiting.splice(0).forEach((tell) => tell());
    }
  }
}

function newUse(isLocked: boolean): Use {
  return { count: 0, isLocked, isLeft: false, waiting: [], filling: new Semaphore(1) };
}

/** Where it is. A new one is filled, and gets owner and mode; where that fails nothing of it is left. */
async function makeData(
  home: string,
  { owner, mode, seed }: CacheRequest,
  { remove }: Pick<CacheMountsDeps['archives'], 'remove'>,
): Promise<string> {
  const path = join(home, 'data');
  if ((await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined) {
    try {
      await seed?.(home);
      await chown(path, owner.uid, owner.gid);
      await chmod(path, mode);
    } catch (error) {
      await remove(home);
      throw error;
    }
  }
  return path;
}

/** Resolves when the use is over, or the signal fires. */
async function turn(use: Use, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = withResolvers<undefined>();
  const tell = (): void => resolve(undefined);
  use.waiting.push(tell);
  signal.addEventListener('abort', tell, { once: true });
  await promise;
  signal.removeEventListener('abort', tell);
  signal.throwIfAborted();
}
