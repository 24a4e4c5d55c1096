import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { locate } from '../../../storage/files/path-handle.ts';
import { toBytes, toText, type FilesView } from '../../../storage/files/view.ts';
import { errnoOf, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { OpenFile, openRoot } from '../../base/kernel/safepath.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import type { Build } from './state.ts';

/** The files of an image, to be read. */
export class ReadRoot implements AsyncDisposable {
  readonly view: FilesView;
  readonly #file: OpenFile;

  constructor(file: OpenFile) {
    this.#file = file;
    this.view = viewOf(file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.closeOnPool();
  }
}

/** The files of an image, to be written to; what is written becomes a layer. */
export class WriteRoot implements AsyncDisposable {
  readonly view: FilesView;
  readonly #build: Build;
  readonly #lowers: readonly string[];
  readonly #directory: string;
  readonly #file: OpenFile;

  constructor(build: Build, at: { lowers: readonly string[]; directory: string; file: OpenFile }) {
    this.#build = build;
    this.#lowers = at.lowers;
    this.#directory = at.directory;
    this.#file = at.file;
    this.view = viewOf(at.file);
  }

  /** The tar of what was written so far. */
  async layer(): Promise<ChangesTar> {
    const { mounts, spools, signal } = this.#build;
    using upper = openRoot(join(this.#directory, 'upper'));
    using lower = mounts.hiddenView([...this.#lowers]);
    const request = { upper: upper.fd, merged: this.view.root, lower: lower.fd };
    failpoint('images.build.layer');
    return await spools.ofChanges(request, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.closeOnPool();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** `imageId` empty: nothing at all. */
export async function openReadRoot(build: Build, imageId: string): Promise<ReadRoot> {
  const empty = join(build.temporary, `build-${randomBytes(8).toString('hex')}`);
  failpoint('images.build.view');
  await mkdir(empty, { mode: 0o755 });
  try {
    return new ReadRoot(build.mounts.hiddenView(lowersOf(build, imageId, empty)));
  } finally {
    // A mounted overlay keeps its directories.
    await rm(empty, { recursive: true, force: true });
  }
}

/** An overlay of its own below the directory that each start of the daemon empties. */
export async function openWriteRoot(build: Build, imageId: string): Promise<WriteRoot> {
  const directory = join(build.temporary, `build-${randomBytes(8).toString('hex')}`);
  const [upper = '', work = '', merged = ''] = ['upper', 'work', 'merged'].map((name) =>
    join(directory, name),
  );
  const lowers = lowersOf(build, imageId, merged);
  failpoint('images.build.overlay');
  try {
    await mkdir(directory, { mode: 0o700 });
    await mkdir(upper, { mode: 0o755 });
    await mkdir(work, { mode: 0o700 });
    await mkdir(merged, { mode: 0o755 });
    const file = build.mounts.scratchOverlay({ lowers, upper, work, merged });
    return new WriteRoot(build, { lowers, directory, file });
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/** Topmost first. An overlay needs at least one: of an image without layers it is `empty`. */
function lowersOf({ images }: Build, imageId: string, empty: string): string[] {
  const layerIds = imageId === '' ? [] : images.index.findWhole(imageId).row.layerIds;
  return layerIds.length === 0 ? [empty] : layerIds.map((id) => images.layers.diff(id)).toReversed();
}

function viewOf(file: OpenFile): FilesView {
  return { root: file.fd, isReadOnly: false, mounts: [], empty: file.fd };
}

export function statOf(view: FilesView, path: string): 'nothing' | 'directory' | 'other' {
  try {
    using found = locate(view, toBytes(path.replace(/(?<=.)\/+$/, '')), { followLast: true });
    return found.status.isDirectory ? 'directory' : 'other';
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return 'nothing';
    }
    if (errnoOf(error) === 'ENOTDIR' || errnoOf(error) === 'ELOOP') {
      throw invalidArgument(`${toText(toBytes(path))}: a part of it is no directory`, { cause: error });
    }
    throw error;
  }
}
