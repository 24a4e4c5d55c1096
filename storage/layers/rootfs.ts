import { chmodSync, existsSync, mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { conflict, errnoOf, invalidArgument, invariant } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { DirectoryQuotas } from '../quotas/directory-quotas.ts';
import { removeBehind } from '../files/remove/remove-behind.ts';
import { isEmpty, isRemoved, isWorthKeeping, leaveEmpty, markRemoved, setAside } from '../orphans.ts';

/** The directories of one container's overlay. */
export interface RootfsLayout {
  /** Top layer first, as overlayfs wants them. */
  lowers: string[];
  upper: string;
  work: string;
  merged: string;
}

/** An overlay whose upper directory is to become the init layer of its layers. */
export interface InitLayerDraft {
  layout: RootfsLayout;
  place(): void;
  /** Takes away what is left. */
  discard(): Promise<void>;
}

/** What overlayfs needs of a layer. */
export interface LayerDirectories {
  /** The layer's files. */
  diff(id: number): string;
  /** Of containers on this layer, between it and their own (`LayerStore.initLayer`). */
  initLayer(id: number): string;
  /** A new directory's name on the same file system, swept by the next start. */
  temporary(): string;
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
  /** Containers without an init layer: commands of builds, which do not outlive the daemon. */
  readonly #bare = new Set<string>();

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
   * Makes upper, work and merged. The root that a container sees is that of its own layer: root's and 0755, whatever
   * the image says of it, as dockerd's. Idempotent. `isBare`: its layout has no init layer.
   */
  async create(
    containerId: string,
    layerIds: readonly number[],
    { isBare }: { isBare: boolean } = { isBare: false },
  ): Promise<void> {
    if (isBare) {
      this.#bare.add(containerId);
    }
    const { upper, work, merged } = this.layout(containerId, layerIds);
    // Four directories in a row, on this thread: each takes microseconds, a pool thread and back a hundred times that.
    make(this.#directory(containerId), 0o710);
    makeDirectory(upper, 0o755);
    makeDirectory(work, 0o700);
    make(merged, 0o700);
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

  /** The directories of these layers alone, topmost first. */
  lowers(layerIds: readonly number[]): string[] {
    return layerIds.map((id) => this.#layers.diff(id)).toReversed();
  }

  /**
   * An overlay on these layers whose upper directory becomes their init layer by `place`; undefined where there is one,
   * and for an image without layers. `discard` removes what is left of it.
   */
  draftInitLayer(layerIds: readonly number[]): InitLayerDraft | undefined {
    const top = layerIds.at(-1);
    const target = top === undefined ? undefined : this.#layers.initLayer(top);
    if (target === undefined || existsSync(target)) {
      return undefined;
    }
    const directory = this.#layers.temporary();
    const [upper, work] = [join(directory, 'upper'), join(directory, 'work')];
    mkdirSync(upper, { recursive: true, mode: 0o755 });
    mkdirSync(work, { mode: 0o700 });
    const lowers = this.lowers(layerIds);
    return {
      layout: { lowers, upper, work, merged: '' },
      place: () => {
        try {
          renameSync(upper, target);
        } catch (error) {
          // Another creation was faster, with the same.
          if (errnoOf(error) !== 'ENOTEMPTY' && errnoOf(error) !== 'EEXIST') {
            throw error;
          }
        }
      },
      discard: () => this.#removeTree(directory),
    };
  }

  /** A work directory for one overlay of a moment, on the file system of the containers; the next start empties it. */
  scratchWork(): { path: string } & AsyncDisposable {
    const path = join(this.#temporary, `work-${randomUUID()}`);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return { path, [Symbol.asyncDispose]: () => this.#removeTree(path) };
  }

  /** Whether it was made so, by this daemon. */
  isBare(containerId: string): boolean {
    return this.#bare.has(containerId);
  }

  /** Where everything lies; topmost layer first, as overlayfs wants it. The init layer only where it has been made. */
  layout(containerId: string, layerIds: readonly number[]): RootfsLayout {
    const directory = this.#directory(containerId);
    const top = layerIds.at(-1);
    const init =
      top === undefined || this.#bare.has(containerId)
        ? []
        : [this.#layers.initLayer(top)].filter((path) => existsSync(path));
    return {
      lowers: [...init, ...layerIds.map((id) => this.#layers.diff(id)).toReversed()],
      upper: join(directory, 'upper'),
      work: join(directory, 'work'),
      merged: join(this.#mergedRoot, containerId, 'merged'),
    };
  }

  /**
   * Takes the container's directory with everything in it out of sight; its files are deleted in the background, and by
   * the next start if this one dies meanwhile (it empties `temporary`). The overlay is unmounted by now. Idempotent.
   * `leaveEmpty`: an empty one takes its place, until `forgetRemoved`.
   */
  async remove(
    containerId: string,
    { leaveEmpty: isEmptyLeft }: { leaveEmpty: boolean } = { leaveEmpty: false },
  ): Promise<void> {
    this.#bare.delete(containerId);
    const directory = this.#directory(containerId);
    if (isEmptyLeft && isEmpty(directory)) {
      return;
    }
    // Before the files: only the directory knows its project.
    await this.#quotas.forget(this.layout(containerId, []).upper);
    this.#discard(directory, isEmptyLeft ? leaveEmpty : renameSync);
    if (this.#mergedRoot !== this.#root) {
      this.#discard(join(this.#mergedRoot, containerId), renameSync);
    }
  }

  #discard(directory: string, move: (directory: string, hidden: string) => void): void {
    const hidden = join(this.#temporary, `removed-${randomUUID()}`);
    mkdirSync(this.#temporary, { recursive: true, mode: 0o700 });
    removeBehind(directory, hidden, {
      move,
      removeTree: this.#removeTree,
      failed: (error) => {
        this.#log.error(
          { directory: hidden, err: error },
          'files of a removed container stay until the next start',
        );
      },
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

  /** Marks files that nothing refers to and that could not be removed: `clearOrphan` sets the mark. */
  markRemoved(containerId: string): void {
    markRemoved(this.#directory(containerId));
  }

  /** Whether its directory says that it was removed, even if a row is still there. */
  isRemoved(containerId: string): boolean {
    return isRemoved(this.#directory(containerId));
  }

  /** The row is gone: the empty directory that said so goes too. */
  forgetRemoved(containerId: string): void {
    try {
      rmdirSync(this.#directory(containerId));
    } catch (error) {
      // Not there, or not empty: files that resisted wait for the next start, whose sweep takes either.
      this.#log.debug({ container: containerId, err: error }, 'the mark of a removal stays');
    }
  }

  /**
   * Takes a directory away that no row names. What a container wrote goes to `quarantine`; answers where it is now,
   * undefined when there was nothing to keep.
   */
  async clearOrphan(containerId: string): Promise<string | undefined> {
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
}

/** Unless it is there. Of a read-only disk `recursive` says ENOENT, which is not what is wrong. */
function make(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      mkdirSync(path, { recursive: true, mode });
    } else if (errnoOf(error) !== 'EEXIST') {
      throw error;
    }
  }
}

/** Exactly this mode, whatever the umask. */
function makeDirectory(path: string, mode: number): void {
  make(path, 0o700);
  if (mode !== 0o700) {
    chmodSync(path, mode);
  }
}
