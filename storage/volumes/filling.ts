import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { makeDirectoryAt } from '../../daemon/base/kernel/files/files.ts';
import type { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import { copyDirectoryMetadata, fillStaging, moveFromStaging, openChild } from './fill.ts';

export interface FillingDeps {
  /** A directory of ours, where no container can write. */
  notes: string;
  /** Of the volume; names the note. */
  name: string;
  /** The root of the file system that is filled. */
  target: OpenFile;
  removeTree: (path: string) => Promise<void>;
}

interface Note {
  /** A folder in the target that this engine made, under a random name. */
  folder: string;
  /** All is in it and only to be moved. */
  isComplete: boolean;
}

const NOTE = /^(\.filling-[0-9a-f]{32}) (copying|complete)$/;

/** Takes the notes of volumes that are gone away. */
export async function forgetFillings(notes: string, isGone: (name: string) => boolean): Promise<void> {
  for (const name of existsSync(notes) ? await readdir(notes) : []) {
    if (isGone(name)) {
      await rm(join(notes, name), { force: true });
    }
  }
}

/**
 * A copy into a file system that other hosts and processes can reach while it goes on. Whatever they do with the
 * folder, nothing is read or written outside the target: it is opened without following links, and entries are moved by
 * descriptors.
 */
export class Filling {
  readonly #deps: FillingDeps;

  constructor(deps: FillingDeps) {
    this.#deps = deps;
  }

  /** Copies all of `source` into the target, which is empty. Killed half-way, `complete` ends or forgets it. */
  async fill(source: OpenFile): Promise<void> {
    const { target } = this.#deps;
    const folder = `.filling-${randomBytes(16).toString('hex')}`;
    await this.#write({ folder, isComplete: false });
    try {
      makeDirectoryAt(target.fd, folder, 0o700);
      failpoint('volume.fill.folder');
      using staging = openChild(target, folder);
      await fillStaging(source, staging);
    } catch (error) {
      await this.#forget(folder);
      throw error;
    }
    await this.#write({ folder, isComplete: true });
    failpoint('volume.fill.copied');
    await this.complete();
  }

  /** Ends or takes back what a daemon before this one began. True when the target is filled by it. */
  async complete(): Promise<boolean> {
    const { target } = this.#deps;
    const note = await this.#read();
    if (note === undefined) {
      return false;
    }
    using staging = note.isComplete ? openIfThere(target, note.folder) : undefined;
    if (staging !== undefined && isWhole(staging)) {
      await moveFromStaging(staging, target);
      failpoint('volume.fill.moved');
    }
    await this.#forget(note.folder, staging);
    return staging !== undefined;
  }

  /** The folder, then the note of it. Removing the folder changes times of the target that were just set. */
  async #forget(folder: string, staging?: OpenFile): Promise<void> {
    const { target, removeTree } = this.#deps;
    using times = staging && openIfThere(staging, 'directory');
    await removeTree(`${target.path}/${folder}`);
    if (times !== undefined) {
      copyDirectoryMetadata(times, target);
    }
    failpoint('volume.fill.done');
    await rm(this.#path, { force: true });
  }

  get #path(): string {
    return join(this.#deps.notes, this.#deps.name);
  }

  async #read(): Promise<Note | undefined> {
    try {
      const [, folder, state] = NOTE.exec(await readFile(this.#path, 'utf8')) ?? [];
      return folder === undefined ? undefined : { folder, isComplete: state === 'complete' };
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return undefined;
      }
      throw error;
    }
  }

  async #write({ folder, isComplete }: Note): Promise<void> {
    await mkdir(this.#deps.notes, { recursive: true, mode: 0o700 });
    const fresh = `${this.#path}~`;
    await writeFile(fresh, `${folder} ${isComplete ? 'complete' : 'copying'}`);
    await rename(fresh, this.#path);
  }
}

/** False when another writer took the folder apart: it is left to that writer. */
function isWhole(staging: OpenFile): boolean {
  using entries = openIfThere(staging, 'entries');
  using directory = openIfThere(staging, 'directory');
  return entries !== undefined && directory !== undefined;
}

/** undefined also for what is no directory: another writer put it there. */
function openIfThere(parent: OpenFile, name: string): OpenFile | undefined {
  try {
    return openChild(parent, name);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') {
      return undefined;
    }
    throw error;
  }
}
