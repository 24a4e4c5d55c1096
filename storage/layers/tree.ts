import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { errnoOf, internal, invalidArgument } from '../../daemon/base/errors.ts';
import { setAttribute, setAttributeAt } from '../../daemon/base/kernel/files/attributes.ts';
import * as files from '../../daemon/base/kernel/files/files.ts';
import { setOwnerAndMode } from '../../daemon/base/kernel/files/owner-and-mode.ts';
import { limits } from '../../daemon/base/limits.ts';
import { removeTreeAt } from '../files/remove/remove-tree.ts';
import { attributePolicy, OPAQUE_ATTRIBUTE } from './attributes.ts';
import { DirectoryCache } from './directory-cache.ts';
import { showName, splitName } from '../tar/names.ts';
import type { TarMember } from '../tar/parser.ts';

/** Owner, mode, time and attributes of a tree's object, as in its tar member. */
export type Metadata = Pick<TarMember, 'mode' | 'uid' | 'gid' | 'mtime' | 'attributes'>;

const OPAQUE_YES = Buffer.from('y');
const { S_IFCHR } = constants;

/**
 * The files of one layer, written through descriptors only: no name of the layer is ever resolved outside its root,
 * no link followed in the last component. Paths are normalised byte strings (tar/names.ts). Synchronous, for a worker.
 */
export class LayerTree implements Disposable {
  readonly #root: number;
  readonly #directories: DirectoryCache;
  /** Set last: writing into a directory changes its time, and a default ACL would reach its children. */
  readonly #directoryEnds = new Map<string, Pick<Metadata, 'mtime' | 'attributes'>>();
  readonly #pendingLinks: { path: string; target: string }[] = [];
  /** Directories that no member describes; their owner and mode are those of the layers below. `''` is the root. */
  readonly implied = new Set<string>(['']);
  /** True once a member replaced another one: then the tree no longer tells what the tar held. */
  replaced = false;
  readonly warnings: string[] = [];

  /** `root` is an existing directory of ours. */
  constructor(root: string) {
    this.#root = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY);
    this.#directories = new DirectoryCache(this.#root, this.implied);
  }

  directory(path: string, metadata: Metadata): void {
    this.implied.delete(path);
    this.#directoryEnds.set(path, { mtime: metadata.mtime, attributes: this.#allowed(path, metadata) });
    if (path === '') {
      setOwnerAndMode(this.#root, metadata);
      return;
    }
    const { parent, name } = splitName(path);
    const hidesLower = this.#makeDirectory(this.#directories.get(parent), name);
    const fd = files.openBytesInRoot(
      this.#directories.get(parent),
      name,
      constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
    );
    this.#directories.add(path, fd);
    setOwnerAndMode(fd, metadata);
    if (hidesLower) {
      setAttribute(fd, OPAQUE_ATTRIBUTE, OPAQUE_YES);
    }
  }

  /** Creates a file and returns its descriptor; write the content, then call `finishFile` with the same mode. */
  createFile(path: string, mode: number): number {
    // Set-user-id and the like only once the owner is right.
    return this.#create(path, (parent, name) => files.createFileAt(parent, name, mode & 0o777));
  }

  /** Sets what is known about a file and closes it. */
  finishFile(fd: number, path: string, metadata: Metadata): void {
    try {
      setOwnerAndMode(fd, metadata);
      for (const [attribute, value] of this.#allowed(path, metadata)) {
        this.#attribute(path, attribute, () => setAttribute(fd, attribute, value));
      }
      files.changeTime(fd, metadata.mtime);
    } finally {
      closeSync(fd);
    }
  }

  symlink(path: string, target: string, metadata: Metadata): void {
    this.#create(path, (parent, name) => files.makeSymlinkAt(parent, name, target));
    this.#finishSpecial(path, metadata, { hasMode: false });
  }

  /** A device or FIFO. */
  node(
    path: string,
    node: { type: 'character' | 'block' | 'fifo'; major: number; minor: number },
    metadata: Metadata,
  ): void {
    this.#create(path, (parent, name) =>
      files.makeNodeAt(parent, name, { ...node, type: files.NODE_TYPES[node.type], mode: 0o600 }),
    );
    this.#finishSpecial(path, metadata, { hasMode: true });
  }

  /** A further name of a file of this layer. A target that comes later in the tar is linked at the end. */
  link(path: string, target: string): void {
    if (path === target) {
      throw invalidArgument(`entry ${showName(path)}: a hard link to itself`);
    }
    if (!this.#tryLink(path, target)) {
      this.#pendingLinks.push({ path, target });
    }
  }

  /** `name` of the lower layers is gone: a character device 0/0, as overlayfs wants it. */
  whiteout(path: string): void {
    const { parent, name } = splitName(path);
    const directory = this.#directories.get(parent);
    try {
      files.makeNodeAt(directory, name, { type: S_IFCHR, mode: 0, major: 0, minor: 0 });
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') {
        throw error;
      }
      // This layer has the name itself, which hides the lower one; only a directory would let it shine through.
      if (statAt(directory, name).isDirectory()) {
        this.opaque(path);
      }
    }
  }

  /** Nothing of the lower layers shows in this directory. */
  opaque(path: string): void {
    if (path === '') {
      // Overlayfs does not look for the mark on the root; no real layer hides the whole image below it.
      throw invalidArgument('an opaque mark on the root of the layer is not supported');
    }
    setAttribute(this.#directories.get(path), OPAQUE_ATTRIBUTE, OPAQUE_YES);
  }

  /** Completes links to later members, then sets times and attributes of directories. */
  finish(): void {
    for (const { path, target } of this.#pendingLinks) {
      if (!this.#tryLink(path, target)) {
        throw invalidArgument(
          `entry ${showName(path)}: hard link to ${showName(target)}, which is not there`,
        );
      }
    }
    for (const [path, { mtime, attributes }] of this.#directoryEnds) {
      const fd = this.#directories.find(path);
      if (fd === undefined) {
        continue;
      }
      for (const [attribute, value] of attributes) {
        this.#attribute(path, attribute, () => setAttribute(fd, attribute, value));
      }
      files.changeTime(fd, mtime);
    }
  }

  [Symbol.dispose](): void {
    this.#directories[Symbol.dispose]();
    closeSync(this.#root);
  }

  #tryLink(path: string, target: string): boolean {
    const from = splitName(target);
    const source = this.#directories.find(from.parent);
    if (source === undefined) {
      return false;
    }
    try {
      const stat = statAt(source, from.name);
      if (isWhiteout(stat)) {
        return false;
      }
      if (stat.isDirectory()) {
        throw invalidArgument(`entry ${showName(path)}: hard link to the directory ${showName(target)}`);
      }
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return false;
      }
      throw error;
    }
    this.#create(path, (parent, name) => {
      const directory = this.#directories.find(from.parent);
      if (directory === undefined) {
        throw internal(`link ${showName(path)}: the directory of its target has gone`);
      }
      files.makeLinkAt(directory, from.name, parent, name);
    });
    return true;
  }

  /** Makes a name; what had it before in this layer gives way, as later members win. */
  #create<T>(path: string, make: (parent: number, name: string) => T): T {
    if (path === '') {
      throw invalidArgument('the root of the layer must be a directory');
    }
    const { parent, name } = splitName(path);
    try {
      return make(this.#directories.get(parent), name);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') {
        throw error;
      }
    }
    this.#clear(parent, name);
    return make(this.#directories.get(parent), name);
  }

  /** True when the directory takes the place of a whiteout: then the lower one of that name stays hidden. */
  #makeDirectory(parent: number, name: string): boolean {
    try {
      files.makeDirectoryAt(parent, name, 0o700);
      return false;
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') {
        throw error;
      }
    }
    const before = statAt(parent, name);
    if (before.isDirectory()) {
      return false;
    }
    this.replaced = true;
    files.unlinkAt(parent, name);
    files.makeDirectoryAt(parent, name, 0o700);
    this.#directories.forget();
    return isWhiteout(before);
  }

  #clear(parent: string, name: string): void {
    this.replaced = true;
    const directory = this.#directories.get(parent);
    const path = parent === '' ? name : `${parent}/${name}`;
    if (statAt(directory, name).isDirectory()) {
      removeTreeAt(directory, name);
      for (const known of [...this.#directoryEnds.keys(), ...this.implied]) {
        if (known === path || known.startsWith(`${path}/`)) {
          this.#directoryEnds.delete(known);
          this.implied.delete(known);
        }
      }
    } else {
      files.unlinkAt(directory, name);
    }
    this.#directories.forget();
  }

  #finishSpecial(path: string, metadata: Metadata, options: { hasMode: boolean }): void {
    const { parent, name } = splitName(path);
    const directory = this.#directories.get(parent);
    files.changeOwnerAt(directory, name, metadata.uid, metadata.gid);
    if (options.hasMode) {
      files.changeNodeModeAt(directory, name, metadata.mode);
    }
    for (const [attribute, value] of this.#allowed(path, metadata)) {
      this.#attribute(path, attribute, () => setAttributeAt(directory, name, attribute, value));
    }
    files.changeTimeAt(directory, name, metadata.mtime);
  }

  #allowed(path: string, metadata: Metadata): ReadonlyMap<string, Buffer> {
    if (metadata.attributes.size === 0) {
      return metadata.attributes;
    }
    const allowed = new Map<string, Buffer>();
    for (const [name, value] of metadata.attributes) {
      const policy = attributePolicy(name);
      if (policy === 'refuse') {
        throw invalidArgument(`entry ${showName(path)}: extended attribute ${showName(name)} is not allowed`);
      }
      if (policy === 'apply') {
        allowed.set(name, value);
      }
    }
    return allowed;
  }

  /** A file system without this kind of attribute does not make the image unusable: a warning, not an error. */
  #attribute(path: string, attribute: string, set: () => void): void {
    try {
      set();
    } catch (error) {
      const code = errnoOf(error);
      if (!this.#isBeyondDisk(code, attribute)) {
        throw error;
      }
      if (this.warnings.length < limits.layerWarningsMax) {
        this.warnings.push(`${showName(path)}: extended attribute ${attribute} not stored: ${code}`);
      }
    }
  }

  /** Ext4 says ENOSPC of an attribute that fits into no block of its own, however much room there is. */
  #isBeyondDisk(code: string | undefined, attribute: string): boolean {
    if (code === 'EPERM') {
      return attribute.startsWith('user.');
    }
    if (code === 'ENOSPC') {
      return files.freeBytes(this.#root) >= limits.diskReserveBytes;
    }
    return code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'E2BIG';
  }
}

/** What overlayfs takes for a name that is gone. */
function isWhiteout(stat: Stats): boolean {
  return stat.isCharacterDevice() && stat.rdev === 0;
}

/** What a name in a directory is, links not followed. */
function statAt(directory: number, name: string): Stats {
  const fd = files.openPathAt(directory, name);
  try {
    return fstatSync(fd);
  } finally {
    closeSync(fd);
  }
}
