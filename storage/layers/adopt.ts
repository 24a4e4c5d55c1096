import { closeSync, constants, openSync, readdirSync, renameSync, rmSync, type Dirent } from 'node:fs';
import { isEngineError, unreachable } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import {
  listAttributes,
  listAttributesOf,
  removeAttribute,
} from '../../daemon/base/kernel/files/attributes.ts';
import * as kernel from '../../daemon/base/kernel/files/files.ts';
import { fileStatus } from '../../daemon/base/kernel/files/file-status.ts';
import { OpenFile, openRoot } from '../../daemon/base/kernel/files/safepath.ts';
import type { AppliedLayer, ApplyControl, ApplyRequest } from './apply-request.ts';
import { LayerApplier, type LayerFiles } from './applier.ts';
import { attributePolicy, OPAQUE_ATTRIBUTE } from './attributes.ts';
import { feed } from './feed.ts';
import { RecipeWriter } from './recipe.ts';

const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** What is mounted under a layer's own name, or of whose content only a note is here: no layer. */
const FOREIGN_ATTRIBUTES = new Set(['trusted.overlay.redirect', 'trusted.overlay.metacopy']);

type Kind = 'file' | 'directory' | 'symlink' | 'character' | 'block' | 'fifo' | 'link' | 'whiteout';

/**
 * Makes a layer of files that are there already: only the recipe is written. Undefined, with nothing changed, where the
 * files are not exactly what the blob says: a file that was copied up and is the same is in them and not in the blob.
 */
export async function adoptFiles(
  request: ApplyRequest,
  places: { files: string; diff: string; recipe: string },
  control: ApplyControl,
): Promise<AppliedLayer | undefined> {
  const recipeFd = openSync(places.recipe, 'wx', 0o600);
  try {
    using described = new DescribedFiles();
    const recipe = new RecipeWriter(recipeFd);
    const applier = new LayerApplier(described, recipe, request.what);
    const found = await feed(request, applier, control);
    recipe.finish(found.tarBytes);
    if (described.isPlain && takeFiles(places, described.entries)) {
      const { contentBytes } = applier;
      return { ...found, contentBytes, implied: [''], warnings: [] };
    }
  } catch (error) {
    if (isEngineError(error, 'canceled')) {
      throw error;
    }
    // Whatever it is, unpacking meets it too, or does without.
  } finally {
    closeSync(recipeFd);
  }
  rmSync(places.recipe);
  return undefined;
}

/** What a blob says of files, in place of the files. */
class DescribedFiles implements LayerFiles, Disposable {
  readonly entries = new Map<string, Kind>();
  /** False: only unpacking settles what becomes of it. */
  isPlain = true;
  readonly #nothing = openSync('/dev/null', 'w');

  directory(path: string): void {
    this.#add(path, 'directory');
  }

  createFile(path: string): number {
    this.#add(path, 'file');
    return this.#nothing;
  }

  finishFile(): void {
    // Nothing was made.
  }

  symlink(path: string): void {
    this.#add(path, 'symlink');
  }

  node(path: string, { type }: { type: 'character' | 'block' | 'fifo' }): void {
    this.#add(path, type);
  }

  link(path: string): void {
    this.#add(path, 'link');
  }

  whiteout(path: string): void {
    this.#add(path, 'whiteout');
  }

  opaque(): void {
    this.isPlain = false;
  }

  finish(): void {
    // Nothing is left to be done.
  }

  [Symbol.dispose](): void {
    closeSync(this.#nothing);
  }

  #add(path: string, kind: Kind): void {
    this.isPlain &&= path !== '' && !this.entries.has(path);
    this.entries.set(path, kind);
  }
}

/** Moves the files to their place if they are these; false, and untouched, if not. */
function takeFiles(
  { files, diff }: { files: string; diff: string },
  entries: ReadonlyMap<string, Kind>,
): boolean {
  using root = openRoot(files);
  const opaque = compare(root.fd, entries);
  if (opaque === undefined) {
    return false;
  }
  // The kernel marks new directories, as nothing is below them. What they hide, if anything, the blob says by name.
  for (const path of opaque) {
    using directory = openDirectory(root.fd, path);
    removeAttribute(directory.fd, OPAQUE_ATTRIBUTE);
  }
  // As of one that is unpacked; those of the layers below come over it.
  using directory = kernel.reopen(root.fd, 'directory');
  kernel.changeOwner(directory.fd, 0, 0);
  kernel.changeMode(directory.fd, 0o755);
  failpoint('images.load.adopt');
  renameSync(files, diff);
  return true;
}

/** Answers the directories with a mark that nothing below shows; undefined where the files are others. */
function compare(root: number, entries: ReadonlyMap<string, Kind>): string[] | undefined {
  const opaque: string[] = [];
  const directories = [''];
  let count = 0;
  for (let path = directories.pop(); path !== undefined; path = directories.pop()) {
    using directory = openDirectory(root, path);
    const attributes = listAttributesOf(directory.fd);
    if (attributes.includes(OPAQUE_ATTRIBUTE)) {
      opaque.push(path);
    }
    if (attributes.some((name) => FOREIGN_ATTRIBUTES.has(name)) || (path === '' && isSpecial(attributes))) {
      return undefined;
    }
    const at = `/proc/self/fd/${directory.fd}`;
    for (const entry of readdirSync(at, { withFileTypes: true, encoding: 'latin1' })) {
      const name = path === '' ? entry.name : `${path}/${entry.name}`;
      const kind = entries.get(name);
      if (kind === undefined || !isOf(kind, entry, directory.fd)) {
        return undefined;
      }
      count += 1;
      if (kind === 'directory') {
        directories.push(name);
      }
    }
  }
  return count === entries.size ? opaque : undefined;
}

function openDirectory(root: number, path: string): OpenFile {
  return path === ''
    ? kernel.reopen(root, 'directory')
    : new OpenFile(kernel.openBytesBeneath(root, path, DIRECTORY_FLAGS));
}

/** Marks of its own on the root are not of the kind that the layers below would give it. */
function isSpecial(attributes: readonly string[]): boolean {
  return attributes.some((name) => name === OPAQUE_ATTRIBUTE || attributePolicy(name) === 'apply');
}

function isOf(kind: Kind, entry: Dirent, directory: number): boolean {
  switch (kind) {
    case 'directory':
      return entry.isDirectory();
    case 'symlink':
      return entry.isSymbolicLink();
    case 'block':
      return entry.isBlockDevice();
    case 'fifo':
      return entry.isFIFO();
    case 'character':
    case 'whiteout':
      return entry.isCharacterDevice() && isWhiteout(directory, entry.name) === (kind === 'whiteout');
    case 'file':
      return entry.isFile() && isWhole(directory, entry.name);
    case 'link':
      return !entry.isDirectory() && (!entry.isFile() || isWhole(directory, entry.name));
    default:
      return unreachable(kind);
  }
}

function isWhiteout(directory: number, name: string): boolean {
  using file = new OpenFile(kernel.openPathAt(directory, name));
  const { major, minor } = fileStatus(file.fd);
  return major === 0 && minor === 0;
}

function isWhole(directory: number, name: string): boolean {
  const attributes = listAttributes(`/proc/self/fd/${directory}/${name}`);
  return !attributes.some((attribute) => FOREIGN_ATTRIBUTES.has(attribute));
}
