import { randomBytes } from 'node:crypto';
import { constants, renameSync } from 'node:fs';
import { mkdir, open, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { errnoOf, invariant, isEngineError } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { syncFileSystem } from '../../daemon/base/kernel/files.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Removals } from '../files/removals.ts';
import { DIFF, type AppliedLayer, type ApplyRequest } from './apply.ts';
import { inheritDirectories } from './inherit.ts';
import { layerTarBytes } from './replay.ts';
import type { PackedLayer } from './pack.ts';
import type { JobOptions, LayerWorkers } from './workers/worker-pool.ts';

/** A layer unpacked into a directory that no row names yet. */
export interface UnpackedLayer extends AppliedLayer {
  directory: string;
}

/** Beside a layer's files: see `initLayer`. */
const INIT = 'init';
const TEMPORARY = 'tmp-';
const REMOVED = 'removed-';

/**
 * The layers' directories, `<dataRoot>/layers/<id in base 36>/{diff,recipe,init}`. Rows say which of them are layers; a
 * directory without a row is a leftover that `sweep` removes, so nothing here needs to be undone after a crash.
 */
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

  /** Makes the root, readable by nobody else: layers hold setuid programs (CVE-2021-41091). */
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
      const layer = await this.#workers.apply({ ...request, directory }, options);
      for (const warning of layer.warnings) {
        this.#log.warn({ layer: layer.diffId, warning }, 'layer unpacked with a loss');
      }
      return { ...layer, directory };
    } catch (error) {
      await this.#removeTree(directory);
      throw error;
    }
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
    const doomed = join(this.#root, `${REMOVED}${randomBytes(8).toString('hex')}`);
    try {
      // A half-removed directory must never be taken for the layer.
      await rename(this.directory(id), doomed);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return;
      }
      throw error;
    }
    this.#removeTree(doomed).catch((error: unknown) => {
      this.#log.error(
        { directory: doomed, err: error },
        'files of a removed layer stay until the next start',
      );
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
   * Moves a placed layer to where a lost one was. False when somebody has done that already: then it stays in its own
   * place. Blocks for microseconds, so that nobody sees it half done. Call `sync` afterwards.
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
  pack(id: number, diffId: string, fd: number, options: JobOptions): Promise<PackedLayer> {
    return this.#workers.pack({ directory: this.directory(id), diffId, fd }, options);
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
