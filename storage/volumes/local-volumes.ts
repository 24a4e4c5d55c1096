import { randomBytes } from 'node:crypto';
import { constants, existsSync, openSync } from 'node:fs';
import { chmod, mkdir, readdir, realpath, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError, conflict, errnoOf, invalidArgument } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { OpenFile, openInRoot, openRoot } from '../../daemon/base/kernel/files/safepath.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { fillStaging, moveFromStaging } from './fill.ts';
import { Filling, forgetFillings } from './filling.ts';
import type { DirectoryQuotas } from '../quotas/directory-quotas.ts';
import { mountPointsBelow, mountVolume, unmountVolume } from './volume-mount.ts';
import type { VolumeMountPlan } from './volume-mount.ts';

const O_CLOEXEC = 0o2000000;
const { O_RDONLY, O_DIRECTORY } = constants;
/** Holds no volume. */
const NOTES = '.filling';
/** A volume being removed. Volume names never begin with a dot. */
const TRASH = /^\.removed-([0-9a-f]{16})-(.+)$/;

/**
 * Volumes as directories: `<root>/<name>/_data`. The caller has checked the names and keeps one operation per volume
 * at a time.
 *
 *   <root>/<name>/_data       what containers see
 *   <root>/<name>/_filling    a copy-up going on; worthless after a crash
 *   <root>/<name>/_filled     a complete one, moved into _data now or after a crash: `entries`, and an empty
 *                             `directory` that carries owner, mode, times and attributes for _data itself
 *   <root>/.removed-*         a removed volume's directory, being deleted
 *   <root>/.filling/<name>    a copy-up into a mounted file system going on (filling.ts)
 */
export class LocalVolumes {
  readonly #root: string;
  readonly #log: Logger;
  readonly #quotas: DirectoryQuotas;
  readonly #removeTree: (path: string) => Promise<void>;

  /** `removeTree` deletes a directory without stopping this thread. */
  constructor(deps: {
    root: string;
    quotas: DirectoryQuotas;
    removeTree: (path: string) => Promise<void>;
    log: Logger;
  }) {
    this.#root = deps.root;
    this.#quotas = deps.quotas;
    this.#removeTree = deps.removeTree;
    this.#log = deps.log;
  }

  mountpoint(name: string): string {
    return join(this.#root, name, '_data');
  }

  /** Why volumes here cannot be limited in size; undefined = they can. */
  quotaObstacle(): string | undefined {
    return this.#quotas.obstacle(this.#root);
  }

  /**
   * Makes the directories. A directory that is there already is adopted with what it holds. No more than `sizeBytes`
   * fits in; 0 = no limit.
   */
  async create(name: string, sizeBytes = 0): Promise<void> {
    // Passable but not listable: a container's root may look into its own volume, but cannot list the volumes.
    await makeDirectory(this.#root, 0o701);
    await makeDirectory(join(this.#root, name), 0o701);
    failpoint('volume.create.home');
    await makeDirectory(this.mountpoint(name), 0o755);
    failpoint('volume.create.directory');
    if (sizeBytes > 0) {
      await this.limit(name, sizeBytes);
    }
  }

  /**
   * Puts the limit of the volume into force, unless it has one: an administrator may have changed that. Throws conflict
   * when it holds files that would not count, invalid_argument where there are no quotas.
   */
  async limit(name: string, sizeBytes: number): Promise<void> {
    const home = join(this.#root, name);
    const mountpoint = this.mountpoint(name);
    const usage = await this.#quotas.usage(home);
    if (usage === undefined && !(await isEmpty(mountpoint))) {
      throw conflict(`volume ${name}: ${mountpoint} holds files, which would not count in its size`);
    }
    if (usage === undefined || usage.limitBytes === 0) {
      await this.#quotas.limit([home, mountpoint], sizeBytes);
    }
  }

  /** Takes `create` back, as far as it came. A directory that holds anything was adopted and stays. */
  async undoCreate(name: string): Promise<void> {
    await removeIfEmpty(this.mountpoint(name));
    const home = join(this.#root, name);
    if (await isEmpty(home)) {
      await this.#quotas.forget(home);
    }
    await removeIfEmpty(home);
  }

  /**
   * Takes the directory out of sight; `finish` deletes it once the row is gone, `undo` puts it back. Until `finish` a
   * crash loses nothing. Throws conflict when something is mounted below: deleting would empty the mounted disk.
   */
  async beginRemove(name: string): Promise<{ finish(): Promise<void>; undo(): Promise<void> }> {
    const path = join(this.#root, name);
    const mounts = await mountPointsBelow(join(await realpath(this.#root), name));
    if (mounts.length > 0) {
      throw conflict(`remove ${name}: ${mounts[0]} is a mount point, unmount it first`);
    }
    const trash = join(this.#root, `.removed-${randomBytes(8).toString('hex')}-${name}`);
    await renameIfThere(path, trash);
    return {
      finish: async () => {
        await this.forgetFilling(name);
        await this.#delete(trash);
      },
      undo: () => renameIfThere(trash, path),
    };
  }

  /**
   * Fills the volume from directory `sourcePath` of the tree `sourceRoot` (names resolved inside that tree), unless
   * the volume holds anything. Its directory takes over owner, mode, times and attributes of the source as well.
   * No such directory in the tree: nothing happens. Killed half-way it is done again or completed by the next call.
   */
  async populate(name: string, sourceRoot: string, sourcePath: string): Promise<void> {
    const home = join(this.#root, name);
    if (await this.#completeFilling(name)) {
      return;
    }
    using source = openSourceDirectory(sourceRoot, sourcePath);
    if (source === undefined || (await readdir(this.mountpoint(name))).length > 0) {
      return;
    }
    const filling = join(home, '_filling');
    await this.#removeTree(filling);
    await mkdir(filling, { mode: 0o700 });
    try {
      using staging = openDirectory(filling);
      await fillStaging(source, staging);
      await this.#refuseOverfull(home);
    } catch (error) {
      await this.#removeTree(filling);
      throw copyError(name, sourcePath, error);
    }
    failpoint('volume.populate.copied');
    await rename(filling, join(home, '_filled'));
    failpoint('volume.populate.filled');
    await this.#completeFilling(name);
  }

  /** Mounts a file system over what the volume has of its own. Idempotent. */
  mount(name: string, plan: VolumeMountPlan): Promise<void> {
    return mountVolume(this.mountpoint(name), plan);
  }

  /** Idempotent. */
  unmount(name: string): Promise<void> {
    return unmountVolume(this.mountpoint(name));
  }

  /**
   * As `populate`, of a volume with a file system of its own that is mounted at `mountpoint`. What is copied is in a
   * folder of that file system until all of it is there; which folder, and whether it is complete, stands in a note
   * of ours (`Filling`).
   */
  async populateAt(mountpoint: string, name: string, sourceRoot: string, sourcePath: string): Promise<void> {
    using target = openDirectory(mountpoint);
    const filling = new Filling({
      notes: join(this.#root, NOTES),
      name,
      target,
      removeTree: this.#removeTree,
    });
    using source = openSourceDirectory(sourceRoot, sourcePath);
    try {
      if ((await filling.complete()) || source === undefined || (await readdir(target.path)).length > 0) {
        return;
      }
      await filling.fill(source);
    } catch (error) {
      throw copyError(name, sourcePath, error);
    }
  }

  /** The volume is gone, and with it what was copied into it. */
  forgetFilling(name: string): Promise<void> {
    return forgetFillings(join(this.#root, NOTES), (noted) => noted === name);
  }

  /**
   * After a start: finishes what was going on, given the names that have a row. Directories of no known volume are
   * left alone unless they are empty, known volumes without a directory get an empty one. Those `elsewhere` have none.
   */
  async restore(known: ReadonlySet<string>, elsewhere: ReadonlySet<string>): Promise<void> {
    await makeDirectory(this.#root, 0o701);
    await forgetFillings(join(this.#root, NOTES), (name) => !known.has(name) && !elsewhere.has(name));
    const entries = await readdir(this.#root);
    const present = new Set(entries);
    for (const entry of entries) {
      const removed = TRASH.exec(entry)?.[2];
      if (removed === undefined) {
        continue;
      }
      if (known.has(removed) && !present.has(removed)) {
        // Killed before its row was gone: the volume was not removed.
        await rename(join(this.#root, entry), join(this.#root, removed));
        present.add(removed);
      } else {
        await this.#delete(join(this.#root, entry));
      }
    }
    for (const name of known) {
      if (!present.has(name)) {
        this.#log.error({ volume: name }, 'the directory of a volume was missing, made an empty one');
        await this.create(name);
      } else {
        await this.#completeFilling(name);
      }
    }
    await this.#reportOrphans(
      [...present].filter((entry) => !known.has(entry) && entry !== NOTES && !TRASH.test(entry)),
    );
  }

  async #reportOrphans(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const home = join(this.#root, name);
      const isUnused = (await isEmpty(home)) || (await isEmpty(this.mountpoint(name)));
      if (isUnused) {
        await this.#delete(home);
      } else {
        this.#log.warn({ entry: name }, 'found data of no known volume, left it alone');
      }
    }
  }

  /** A process that may exceed resource limits (the daemon, by CAP_SYS_RESOURCE) writes past those of ext4. */
  async #refuseOverfull(home: string): Promise<void> {
    const usage = await this.#quotas.usage(home);
    if (usage !== undefined && usage.limitBytes > 0 && usage.usedBytes > usage.limitBytes) {
      throw new EngineError(
        'resource_exhausted',
        `${usage.usedBytes} bytes do not fit into ${usage.limitBytes}: disk quota exceeded`,
      );
    }
  }

  /** Of the directory of a removed volume. The limit goes first: only the directory knows its project. */
  async #delete(home: string): Promise<void> {
    await this.#quotas.forget(home);
    await this.#removeTree(home);
  }

  /** Moves a complete copy into the volume. True when there was one. */
  async #completeFilling(name: string): Promise<boolean> {
    const filled = join(this.#root, name, '_filled');
    if (!existsSync(filled)) {
      return false;
    }
    using staging = openDirectory(filled);
    using target = openDirectory(this.mountpoint(name));
    await moveFromStaging(staging, target);
    await this.#removeTree(filled);
    failpoint('volume.populate.done');
    return true;
  }
}

/** False for what is no directory, or not there. */
async function isEmpty(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length === 0;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') {
      return false;
    }
    throw error;
  }
}

async function removeIfEmpty(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTEMPTY') {
      throw error;
    }
  }
}

function openSourceDirectory(root: string, path: string): OpenFile | undefined {
  try {
    return openInRoot(root, path, O_RDONLY | O_DIRECTORY);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ELOOP') {
      return undefined;
    }
    // runc would refuse the mount in words that clients do not know.
    throw code === 'ENOTDIR'
      ? invalidArgument(`cannot mount volume over existing file, file exists ${path}`)
      : error;
  }
}

function openDirectory(path: string): OpenFile {
  using named = openRoot(path);
  return new OpenFile(openSync(named.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path);
    // Not by mkdir, because of the umask.
    await chmod(path, mode);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') {
      throw error;
    }
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') {
      throw error;
    }
  }
}

function copyError(name: string, sourcePath: string, error: unknown): EngineError {
  if (error instanceof EngineError) {
    return new EngineError(error.code, `populate volume ${name} from ${sourcePath}: ${error.message}`);
  }
  const code = errnoOf(error);
  const reason = code === 'ENOSPC' ? 'no space left on device' : (code ?? 'copy failed');
  return new EngineError(
    code === 'ENOSPC' || code === 'EDQUOT' ? 'resource_exhausted' : 'internal',
    `populate volume ${name} from ${sourcePath}: ${reason}`,
    { cause: error },
  );
}
