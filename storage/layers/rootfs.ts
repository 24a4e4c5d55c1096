import { chmodSync, chownSync, mkdirSync, renameSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { conflict, errnoOf, invalidArgument, invariant } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/log.ts';
import type { DirectoryQuotas } from '../quotas/directory-quotas.ts';
import { isWorthKeeping, markRemoved, setAside } from '../strays.ts';

interface Owner {
  mode: number;
  uid: number;
  gid: number;
}

/** What overlayfs needs of a layer. */
export interface LayerDirectories {
  /** The layer's files. */
  diff(id: number): string;
  /** Bytes of the layer, from its row. */
  sizeBytes(id: number): number;
}

/**
 * The directories of containers' root file systems: `<dataRoot>/containers/<id>/{upper,work,merged}`. `merged` is
 * where the overlay is mounted and may be kept elsewhere. Implements RootfsStore of daemon/containers/ports.ts.
 */
export class RootfsDirectories {
  readonly #dataRoot: string;
  readonly #root: string;
  readonly #mergedRoot: string;
  readonly #temporary: string;
  readonly #log: Logger;
  readonly #layers: LayerDirectories;
  readonly #quotas: DirectoryQuotas;
  readonly #sizes: (directories: readonly string[]) => Promise<(number | null)[]>;
  readonly #removeTree: (path: string) => Promise<void>;
  /** Of the root of each layer; a layer never changes. */
  readonly #owners = new Map<number, Owner>();

  /** `sizes` counts bytes below directories, `removeTree` deletes one, without stopping this thread. */
  constructor(deps: {
    dataRoot: string;
    layers: LayerDirectories;
    quotas: DirectoryQuotas;
    sizes: (directories: readonly string[]) => Promise<(number | null)[]>;
    removeTree: (path: string) => Promise<void>;
    log: Logger;
    mergedRoot?: string;
  }) {
    this.#dataRoot = deps.dataRoot;
    this.#root = join(deps.dataRoot, 'containers');
    this.#temporary = join(deps.dataRoot, 'tmp');
    this.#log = deps.log;
    this.#mergedRoot = deps.mergedRoot ?? this.#root;
    this.#layers = deps.layers;
    this.#quotas = deps.quotas;
    this.#sizes = deps.sizes;
    this.#removeTree = deps.removeTree;
  }

  /**
   * Makes upper, work and merged. The root that a container sees is that of its own layer, so upper's gets the mode
   * and owner of the image's. Idempotent.
   */
  async create(containerId: string, layerIds: readonly number[]): Promise<void> {
    const { upper, work, merged } = this.layout(containerId, layerIds);
    const owner = await this.#rootOwner(layerIds);
    // Four directories in a row, on this thread: each takes microseconds, a pool thread and back a hundred times that.
    mkdirSync(this.#directory(containerId), { recursive: true, mode: 0o710 });
    makeDirectory(upper, owner);
    makeDirectory(work, { mode: 0o700, uid: 0, gid: 0 });
    mkdirSync(merged, { recursive: true, mode: 0o700 });
  }

  /**
   * Puts the limit of what the container may write into force, unless it has one. Its log and other files of ours do
   * not count. Throws invalid_argument where there are no quotas, conflict when it holds what would not count.
   */
  async limit(containerId: string, bytes: number): Promise<void> {
    const { upper, work } = this.layout(containerId, []);
    const obstacle = this.#quotas.obstacle(this.#root);
    if (obstacle !== undefined) {
      throw invalidArgument(obstacle);
    }
    const usage = await this.#quotas.usage(upper);
    if (usage === undefined && (await readdir(upper)).length > 0) {
      throw conflict(`${upper} holds files, which would not count in the container's size`);
    }
    if (usage === undefined || usage.limitBytes === 0) {
      await this.#quotas.limit([upper, work], bytes);
    }
  }

  /** Where everything lies; topmost layer first, as overlayfs wants it. Pure. */
  layout(
    containerId: string,
    layerIds: readonly number[],
  ): { lowers: string[]; upper: string; work: string; merged: string } {
    const directory = this.#directory(containerId);
    return {
      lowers: layerIds.map((id) => this.#layers.diff(id)).toReversed(),
      upper: join(directory, 'upper'),
      work: join(directory, 'work'),
      merged: join(this.#mergedRoot, containerId, 'merged'),
    };
  }

  /**
   * Takes the container's directory with everything in it out of sight; its files are deleted in the background, and by
   * the next start if this one dies meanwhile (it empties `temporary`). The overlay is unmounted by now. Idempotent.
   */
  async remove(containerId: string): Promise<void> {
    // Before the files: only the directory knows its project.
    await this.#quotas.forget(this.layout(containerId, []).upper);
    this.#discard(this.#directory(containerId));
    if (this.#mergedRoot !== this.#root) {
      this.#discard(join(this.#mergedRoot, containerId));
    }
  }

  #discard(directory: string): void {
    const hidden = join(this.#temporary, `removed-${randomUUID()}`);
    mkdirSync(this.#temporary, { recursive: true, mode: 0o700 });
    try {
      renameSync(directory, hidden);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return;
      }
      throw error;
    }
    this.#removeTree(hidden).catch((error: unknown) => {
      this.#log.error(
        { directory: hidden, err: error },
        'files of a removed container stay until the next start',
      );
    });
  }

  /** Bytes of all files in the container's own layer, each counted once however many names it has; -1 = unknown. */
  async sizeRw(containerId: string): Promise<number> {
    const [bytes] = await this.#sizes([join(this.#directory(containerId), 'upper')]);
    return bytes ?? -1;
  }

  sizeRootFs(layerIds: readonly number[]): number {
    return layerIds.reduce((total, id) => total + this.#layers.sizeBytes(id), 0);
  }

  /** Its files are wanted by nobody, though they could not be removed: `clearStray` says so of them by this. */
  markRemoved(containerId: string): void {
    markRemoved(this.#directory(containerId));
  }

  /**
   * Takes a directory away that no row names. What a container wrote goes to `quarantine`; answers where it is now,
   * undefined when there was nothing to keep.
   */
  async clearStray(containerId: string): Promise<string | undefined> {
    const directory = this.#directory(containerId);
    const aside = isWorthKeeping(directory)
      ? setAside(this.#dataRoot, directory, { kind: 'containers', name: containerId })
      : undefined;
    await this.remove(containerId);
    return aside;
  }

  /** Ids with a directory, for the sweep. */
  async list(): Promise<string[]> {
    try {
      return await readdir(this.#root);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return [];
      }
      throw error;
    }
  }

  #directory(containerId: string): string {
    invariant(/^[0-9A-Za-z][0-9A-Za-z_.-]*$/.test(containerId), `container id ${containerId}`);
    return join(this.#root, containerId);
  }

  async #rootOwner(layerIds: readonly number[]): Promise<Owner> {
    const top = layerIds.at(-1);
    if (top === undefined) {
      return { mode: 0o755, uid: 0, gid: 0 };
    }
    const known = this.#owners.get(top);
    if (known !== undefined) {
      return known;
    }
    const { mode, uid, gid } = await stat(this.#layers.diff(top));
    const owner = { mode: mode & 0o7777, uid, gid };
    this.#owners.set(top, owner);
    return owner;
  }
}

/** Exactly this mode and owner, whatever the umask. */
function makeDirectory(path: string, owner: Owner): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (owner.uid !== 0 || owner.gid !== 0) {
    chownSync(path, owner.uid, owner.gid);
  }
  if (owner.mode !== 0o700) {
    chmodSync(path, owner.mode);
  }
}
