import { randomBytes } from 'node:crypto';
import { mkdirSync, rmdirSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { locate } from '../files/path-handle.ts';
import { toBytes, toText, type FilesView } from '../files/view.ts';
import { errnoOf, invalidArgument } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { OpenFile, openRoot } from '../../daemon/base/kernel/files/safepath.ts';
import type { ChangesTar } from '../files/tar-spools.ts';
import type { ChangesRequest } from '../files/changes.ts';

/** What roots are made with. */
export interface RootMaker {
  mounts: {
    hiddenView(lowers: readonly string[]): OpenFile;
    scratchOverlay(layout: { lowers: string[]; upper: string; work: string; merged: string }): OpenFile;
  };
  spools: { ofChanges(request: ChangesRequest, signal: AbortSignal): Promise<ChangesTar> };
  /** A directory of ours that is emptied at each start of the daemon. */
  temporary: string;
}

/** The files of layers, to be read. */
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

/** The files of layers, to be written to; what is written becomes a layer. */
export class WriteRoot implements AsyncDisposable {
  readonly view: FilesView;
  readonly #maker: RootMaker;
  readonly #lowers: readonly string[];
  readonly #directory: string;
  readonly #file: OpenFile;

  constructor(maker: RootMaker, at: { lowers: readonly string[]; directory: string; file: OpenFile }) {
    this.#maker = maker;
    this.#lowers = at.lowers;
    this.#directory = at.directory;
    this.#file = at.file;
    this.view = viewOf(at.file);
  }

  /** The tar of what was written so far. */
  async layer(signal: AbortSignal): Promise<ChangesTar> {
    const { mounts, spools } = this.#maker;
    using upper = openRoot(join(this.#directory, 'upper'));
    using lower = mounts.hiddenView([...this.#lowers]);
    const request = { upper: upper.fd, merged: this.view.root, lower: lower.fd, isPlain: true };
    failpoint('images.build.layer');
    return await spools.ofChanges(request, signal);
  }

  /** The directory of what was written, which nothing is mounted on any more; it goes with this root. */
  async close(): Promise<string> {
    await this.#file.closeOnPool();
    return join(this.#directory, 'upper');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.closeOnPool();
    if (!removeEmptied(this.#directory)) {
      await rm(this.#directory, { recursive: true, force: true });
    }
  }
}

/** `layers`: topmost first; none = nothing at all. */
export async function openReadRoot(
  maker: Pick<RootMaker, 'temporary'> & { mounts: Pick<RootMaker['mounts'], 'hiddenView'> },
  layers: readonly string[],
): Promise<ReadRoot> {
  failpoint('images.build.view');
  if (layers.length > 0) {
    return new ReadRoot(maker.mounts.hiddenView(layers));
  }
  const empty = join(maker.temporary, `build-${randomBytes(8).toString('hex')}`);
  await mkdir(empty, { mode: 0o755 });
  try {
    return new ReadRoot(maker.mounts.hiddenView([empty]));
  } finally {
    // What is open stays.
    await rm(empty, { recursive: true, force: true });
  }
}

/** An overlay of its own below the directory that each start of the daemon empties. */
export async function openWriteRoot(maker: RootMaker, layers: readonly string[]): Promise<WriteRoot> {
  const directory = join(maker.temporary, `build-${randomBytes(8).toString('hex')}`);
  const [upper = '', work = '', merged = ''] = ['upper', 'work', 'merged'].map((name) =>
    join(directory, name),
  );
  const lowers = lowersOf(layers, merged);
  failpoint('images.build.overlay');
  try {
    mkdirSync(directory, { mode: 0o700 });
    mkdirSync(upper, { mode: 0o755 });
    mkdirSync(work, { mode: 0o700 });
    mkdirSync(merged, { mode: 0o755 });
    const file = maker.mounts.scratchOverlay({ lowers, upper, work, merged });
    return new WriteRoot(maker, { lowers, directory, file });
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/** Removes what is left where `upper` has become a layer, by as many calls as there are directories. */
function removeEmptied(directory: string): boolean {
  try {
    ['work/work/incompat/volatile', 'work/work/incompat', 'work/work', 'work', 'merged', ''].forEach((name) =>
      rmdirSync(join(directory, name)),
    );
    return true;
  } catch {
    // There is more, or a kernel that keeps less: it is looked for.
    return false;
  }
}

/** An overlay needs at least one: without layers it is `empty`. */
function lowersOf(layers: readonly string[], empty: string): string[] {
  return layers.length === 0 ? [empty] : [...layers];
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
