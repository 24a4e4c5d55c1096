/**
 * The layer store: the files of images' layers, a directory each, below `<dataRoot>/layers`.
 *
 * Three words. A *row* is a line of the table `layers`: it says that a layer exists, and which layer it lies on. A
 * *directory* holds the layer's files. An *id* is the number of a row; in base 36 it names the directory. The rows
 * decide: this class keeps no list of its own, and nothing in it has to be undone after a crash.
 *
 *     layers/2f/diff       the files, as one lower directory of an overlay
 *     layers/2f/recipe     what else the tar held, so that `read` gives it back byte for byte (recipe.ts)
 *     layers/2f/init       what containers need above this layer and below their own; made by the first of them
 *     layers/tmp-<hex>     being unpacked, or an init layer being made
 *     layers/removed-<hex> being deleted
 *
 * The states of a directory, and what leads from one to the next:
 *
 *     unpack            place                transaction           transaction         remove
 *     ------> unpacked ------> placed, no row ---------> in place ------------> no row -------> removed --> gone
 *             tmp-<hex>        <id>                      <id>                   <id>            removed-<hex>
 *                |                |                        |
 *                | discard        | remove                 | deleted by hand, or moved away by `system check --repair`
 *                v                v                        v
 *              gone            removed                   lost: a row without a directory; `restore` leads back
 *
 * A load of an image of two layers, of which the lower one is there: the lower row is pinned. The upper blob is
 * unpacked to `tmp-9c...` and its digests are checked. An id is reserved, say 87, `place` completes the directory and
 * renames it to `2f`, and `sync` brings it to the disk. Then one transaction stores the row 87 with its parent, the
 * image, its names and the event. The pin goes. Had another load stored the same layer meanwhile, the image would take
 * that row, and `2f` would be removed.
 *
 * Invariants:
 *
 *  1. A directory named by a row's id is a whole layer: the digests that were known of it were right when it got that
 *     name. Nothing looks into it again before it is used; `system check` does (storage/check).
 *  2. Nothing below `diff` and `recipe` changes once the directory has its place: containers run on it, any number at
 *     a time. A repair makes a second directory and exchanges the two.
 *  3. The directory comes before its row and goes after it. A row is stored only when its directory is on the disk
 *     (`sync`), but for layers of builds: those are marked until they are, and no image is stored on them before
 *     (daemon/images/load/unsynced-layers.ts). `remove` is called only when the row is gone. Two things happen under a
 *     stored row: `system check` takes a damaged directory away, and `restore` moves another, which is on the disk by
 *     then, to its place.
 *  4. Names appear and disappear by one rename(2). What is half unpacked or half deleted never bears the id of a row.
 *  5. The id of a row is never given out again. One that was reserved and got no row may be, after a power cut: `place`
 *     clears what it finds.
 *  6. A row stays while an image, a container, the hub or another layer refers to it, by the database's foreign keys,
 *     or while work in flight stands on it (daemon/images/layer-pins.ts). Parents are stored before children and go
 *     after them.
 *  7. `init` depends on the layers alone, not on a container. It may be made again at any time and goes with its layer.
 *
 * A build has the files already that it makes a layer of: `unpack` then takes them as they are and only writes the
 * recipe (adopt.ts). Of a client's files that are only put on others `compose` makes the layer, by two threads where
 * there are many (compose). What it makes is in the state `unpacked`.
 *
 * What is deleted by which code, and when:
 *
 *  - `unpack` its own `tmp-` directory, when it fails or is canceled.
 *  - `discard` an unpacked layer that its load or pull does not need after all.
 *  - The rollback of a commit (daemon/images/load/commit-image.ts) what it has unpacked and placed. After the commit:
 *    placed layers that another one stored first.
 *  - The collector (daemon/images/load/layer-collector.ts) the rows that nothing refers to, in a durable transaction
 *    when an image or a container is removed and when a load or pull ends; then their directories by `remove`, which
 *    deletes the files behind the answer.
 *  - `sweep`, at each start and before any load, every name in `layers` that is not the id of a row.
 *  - `system check --repair`, where no daemon runs: layers that nothing refers to, names that are no row's, and
 *    layers damaged beyond repair. Of those it keeps the files in `quarantine` unless a registry has them.
 *
 * What a crash leaves, and what becomes of it:
 *
 *     while unpacking, or before `place`      tmp-<hex>        swept by the next start
 *     between `place` and the transaction     <id>, no row     swept
 *     between the transaction and `remove`    <id>, no row     swept
 *     while files are deleted                 removed-<hex>    swept
 *     rows that only a pin kept               row, <id>        collected by the next start (Images.restore)
 *     between `restore` and the transaction   row, <id>        nothing to do: the lost layer is found again
 *     a power cut, at any time                as above; what a transaction has stored was on the disk before it,
 *                                             and layers of builds that are marked count as lost
 *
 * Layers are not set aside for want of a row, as directories of containers are (storage/orphans.ts): an image can be
 * pulled or loaded again. A start on an empty database deletes all layers.
 */

import { randomBytes } from 'node:crypto';
import { constants, renameSync } from 'node:fs';
import { mkdir, open, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { errnoOf, invariant, isEngineError } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { syncFileSystem } from '../../daemon/base/kernel/files/files.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Removals } from '../files/remove/removals.ts';
import { removeBehind } from '../files/remove/remove-behind.ts';
import { DIFF } from './apply.ts';
import type { AppliedLayer, ApplyRequest } from './apply-request.ts';
import type { Composed, ComposeRequest } from './compose/compose.ts';
import { inheritDirectories } from './inherit.ts';
import { layerTarBytes } from './replay.ts';
import type { PackedLayer, PackRequest } from './pack.ts';
import type { JobOptions, LayerWorkers } from './workers/layer-workers.ts';

/** A layer unpacked into a directory that no row names yet. */
export interface UnpackedLayer extends AppliedLayer {
  directory: string;
}

/** Beside a layer's files: see `initLayer`. */
const INIT = 'init';
const TEMPORARY = 'tmp-';
const REMOVED = 'removed-';

/** The layers' directories. Which verb may be called when stands at the top of this file. */
export class LayerStore {
  readonly #root: string;
  readonly #workers: LayerWorkers;
  readonly #removeTree: (path: string) => Promise<void>;
  readonly #removals: Pick<Removals, 'busy' | 'ended'>;
  readonly #log: Logger;

  /** `removeTree` deletes a directory without stopping this thread; `removals` knows of all that are being deleted. */
  constructor(deps: {
    dataRoot: string;
    workers: LayerWorkers;
    removeTree: (path: string) => Promise<void>;
    removals: Pick<Removals, 'busy' | 'ended'>;
    log: Logger;
  }) {
    this.#root = join(deps.dataRoot, 'layers');
    this.#workers = deps.workers;
    this.#removeTree = deps.removeTree;
    this.#removals = deps.removals;
    this.#log = deps.log;
  }

  /** Makes the root, readable by root alone: layers hold setuid programs (CVE-2021-41091). */
  async prepare(): Promise<void> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
  }

  directory(id: number): string {
    invariant(Number.isSafeInteger(id) && id > 0, `layer id ${id}`);
    return join(this.#root, id.toString(36));
  }

  /** The layer's files: one lower directory of an overlay. */
  diff(id: number): string {
    return join(this.directory(id), DIFF);
  }

  /**
   * What containers whose topmost layer is this one have between it and their own: mount points that the image lacks.
   * It can be made again at any time, and goes with the layer.
   */
  initLayer(id: number): string {
    return join(this.directory(id), INIT);
  }

  /** A name for a directory beside the layers' that the next start removes, should it be left. */
  temporary(): string {
    return join(this.#root, `${TEMPORARY}${randomBytes(8).toString('hex')}`);
  }

  /**
   * Unpacks a blob into a temporary directory, digests checked. Keeps nothing when it throws. `onStart` is called when
   * a thread has begun, with a function that tells how much of the blob was read.
   */
  async unpack(request: Omit<ApplyRequest, 'directory'>, options: JobOptions = {}): Promise<UnpackedLayer> {
    const roomIsComing = this.#removals.busy;
    try {
      return await this.#unpackOnce(request, options);
    } catch (error) {
      if (!isEngineError(error, 'resource_exhausted') || !roomIsComing) {
        throw error;
      }
      await this.#removals.ended();
      return await this.#unpackOnce(request, options);
    }
  }

  async #unpackOnce(request: Omit<ApplyRequest, 'directory'>, options: JobOptions): Promise<UnpackedLayer> {
    const directory = this.temporary();
    await mkdir(directory, { mode: 0o700 });
    try {
      return this.#unpacked(directory, await this.#workers.apply({ ...request, directory }, options));
    } catch (error) {
      await this.#removeTree(directory);
      throw error;
    }
  }

  /** So many files are on their way to `compose`. */
  expectFiles(count: number): void {
    this.#workers.expectFiles(count);
  }

  /** Makes a layer of files in a temporary directory. Keeps nothing when it throws, or makes none. */
  async compose(
    files: ComposeRequest['files'],
    options: JobOptions = {},
  ): Promise<UnpackedLayer | Exclude<Composed['kind'], 'layer'>> {
    const directory = this.temporary();
    await mkdir(directory, { mode: 0o700 });
    try {
      const composed = await this.#workers.compose({ files, directory }, options);
      if (composed.kind === 'layer') {
        return this.#unpacked(directory, composed.layer);
      }
      await this.#removeTree(directory);
      return composed.kind;
    } catch (error) {
      await this.#removeTree(directory);
      throw error;
    }
  }

  #unpacked(directory: string, layer: AppliedLayer): UnpackedLayer {
    for (const warning of layer.warnings) {
      this.#log.warn({ layer: layer.diffId, warning }, 'layer unpacked with a loss');
    }
    return { ...layer, directory };
  }

  /** Gives an unpacked layer its place under a reserved id. `parents` are the layers below, bottom first. */
  async place(layer: UnpackedLayer, id: number, parents: readonly number[]): Promise<void> {
    const lowers = parents.map((parent) => this.diff(parent)).toReversed();
    await inheritDirectories(join(layer.directory, DIFF), lowers, layer.implied);
    const target = this.directory(id);
    // An id reserved before a power cut may have left a directory; no row names it, or the id would not be free.
    await this.#removeTree(target);
    await rename(layer.directory, target);
    failpoint('images.load.rename');
  }

  /** Removes an unpacked layer that is not wanted after all. */
  async discard(layer: UnpackedLayer): Promise<void> {
    await this.#removeTree(layer.directory);
  }

  /** Everything placed so far is on the disk once this resolves. Call before the rows are committed. */
  async sync(): Promise<void> {
    const root = await open(this.#root, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await syncFileSystem(root.fd);
    } finally {
      await root.close();
    }
    failpoint('images.load.sync');
  }

  /**
   * Takes a layer's directory out of sight; its row is already gone. Its files are deleted in the background, and by
   * the next start if this one dies meanwhile (`sweep`). Nothing there is not an error.
   */
  async remove(id: number): Promise<void> {
    failpoint('images.remove.directory');
    const trash = join(this.#root, `${REMOVED}${randomBytes(8).toString('hex')}`);
    removeBehind(this.directory(id), trash, {
      removeTree: this.#removeTree,
      failed: (error) => {
        this.#log.error(
          { directory: trash, err: error },
          'files of a removed layer stay until the next start',
        );
      },
    });
  }

  /**
   * Removes everything that is no directory of these layers: what a crash left. At start, before any load. Answers
   * those of the layers that have no directory.
   */
  async sweep(known: ReadonlySet<number>): Promise<number[]> {
    const missing = new Map([...known].map((id) => [id.toString(36), id]));
    for (const name of await readdir(this.#root)) {
      if (!missing.delete(name)) {
        await this.#sweepDirectory(join(this.#root, name));
      }
    }
    return [...missing.values()];
  }

  async #sweepDirectory(directory: string): Promise<void> {
    try {
      await this.#removeTree(directory);
      this.#log.info({ directory }, 'removed a layer directory that no layer owns');
    } catch (error) {
      this.#log.error({ directory, err: error }, 'a layer directory that no layer owns could not be removed');
    }
  }

  /**
   * Moves a placed layer to where a lost one was. False when another load was faster: then it stays in its own place.
   * Call `sync` before, as the lost layer's row is stored already, and afterwards. Blocks for microseconds, so that
   * nothing sees it half done.
   */
  restore(placedId: number, lostId: number): boolean {
    try {
      renameSync(this.directory(placedId), this.directory(lostId));
    } catch (error) {
      if (errnoOf(error) === 'ENOTEMPTY' || errnoOf(error) === 'EEXIST') {
        return false;
      }
      throw error;
    }
    failpoint('images.load.restore');
    return true;
  }

  /** Compresses a layer's tar into an empty file: the same bytes each time. */
  pack(
    id: number,
    diffId: string,
    fd: number,
    { level, ...options }: JobOptions & Pick<PackRequest, 'level'>,
  ): Promise<PackedLayer> {
    const directory = this.directory(id);
    return this.#workers.pack({ directory, diffId, fd, ...(level !== undefined && { level }) }, options);
  }

  /** Bytes of the tar that `read` gives. */
  tarBytes(id: number): number {
    return layerTarBytes(this.directory(id));
  }

  /** The layer's tar as it was loaded, byte for byte; fails at its end when the files were changed meanwhile. */
  read(id: number, diffId: string): Readable {
    return this.#workers.replay(this.directory(id), diffId);
  }
}
