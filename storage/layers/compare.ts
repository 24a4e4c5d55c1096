import { readSync } from 'node:fs';
import { errnoOf } from '../../daemon/base/errors.ts';
import { getAttribute, listAttributes } from '../../daemon/base/kernel/files/attributes.ts';
import * as files from '../../daemon/base/kernel/files/files.ts';
import { fileStatus } from '../../daemon/base/kernel/files/file-status.ts';
import type { FileStatus } from '../../daemon/base/kernel/files/file-status.ts';
import { OpenFile, openRoot } from '../../daemon/base/kernel/files/safepath.ts';
import { attributePolicy, OPAQUE_ATTRIBUTE } from './attributes.ts';
import { showName } from '../tar/names.ts';

const READ_BYTES = 256 * 1024;

/** An object of one of the two trees. */
interface Side {
  fd: number;
  /** Names it for calls that take no descriptor of a link or device. */
  at: string;
}

export interface ComparisonOptions {
  /** Compares the bytes of files, too. */
  contents: boolean;
  /** Directories (byte strings) whose times the tar does not give. */
  implied: ReadonlySet<string>;
}

/**
 * What is different in `found` from what `expected` has: names, types, sizes, modes, owners, times, targets, device
 * numbers, extended attributes, hard links. One sentence each. Both are directories of ours on one file system, which
 * therefore reports equal files equally. Blocks.
 */
export function compareTrees(expected: string, found: string, options: ComparisonOptions): string[] {
  using left = openRoot(expected);
  using right = openRoot(found);
  const comparison = new Comparison(options);
  comparison.directory({ fd: left.fd, at: `${left.path}/.` }, { fd: right.fd, at: `${right.path}/.` }, '');
  return comparison.problems;
}

class Comparison {
  readonly problems: string[] = [];
  readonly #options: ComparisonOptions;
  /** Of files with several names: the first path by which an object was met, on both sides. */
  readonly #expectedFirst = new Map<string, string>();
  readonly #foundFirst = new Map<string, string>();

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  directory(expected: Side, found: Side, path: string): void {
    this.#metadata(expected, found, path);
    using left = files.reopen(expected.fd, 'directory');
    using right = files.reopen(found.fd, 'directory');
    const present = new Set(files.listNames(right.fd));
    for (const name of files.listNames(left.fd)) {
      const below = path === '' ? name : `${path}/${name}`;
      if (present.delete(name)) {
        this.#entry(left, right, { name, path: below });
      } else {
        this.#note(below, 'is missing');
      }
    }
    for (const name of present) {
      this.#note(path === '' ? name : `${path}/${name}`, 'does not belong there');
    }
  }

  #entry(expected: OpenFile, found: OpenFile, { name, path }: { name: string; path: string }): void {
    using left = new OpenFile(files.openPathAt(expected.fd, name));
    using right = new OpenFile(files.openPathAt(found.fd, name));
    const [wanted, is] = [fileStatus(left.fd), fileStatus(right.fd)];
    if (wanted.type !== is.type) {
      this.#note(path, `is a ${is.type}, should be a ${wanted.type}`);
      return;
    }
    const sides = [
      { fd: left.fd, at: `${expected.path}/${name}` },
      { fd: right.fd, at: `${found.path}/${name}` },
    ] as const;
    if (wanted.isDirectory) {
      this.directory(...sides, path);
      return;
    }
    this.#metadata(...sides, path);
    this.#links(wanted, is, path);
    if (wanted.isSymbolicLink && files.readLink(left.fd) !== files.readLink(right.fd)) {
      this.#note(path, 'leads elsewhere');
    }
    if (wanted.major !== is.major || wanted.minor !== is.minor) {
      this.#note(path, `is device ${is.major}:${is.minor}, should be ${wanted.major}:${wanted.minor}`);
    }
    if (this.#options.contents && wanted.isFile && wanted.size === is.size && !isSameContent(left, right)) {
      this.#note(path, 'has other content');
    }
  }

  #metadata(expected: Side, found: Side, path: string): void {
    const [wanted, is] = [fileStatus(expected.fd), fileStatus(found.fd)];
    if (wanted.mode !== is.mode && !wanted.isSymbolicLink) {
      this.#note(path, `has mode ${is.mode.toString(8)}, should have ${wanted.mode.toString(8)}`);
    }
    if (wanted.uid !== is.uid || wanted.gid !== is.gid) {
      this.#note(path, `belongs to ${is.uid}:${is.gid}, should to ${wanted.uid}:${wanted.gid}`);
    }
    if (wanted.isFile && wanted.size !== is.size) {
      this.#note(path, `has ${is.size} bytes, should have ${wanted.size}`);
    }
    if (wanted.mtime.seconds !== is.mtime.seconds && !this.#hasAnyTime(wanted, path)) {
      this.#note(path, 'was changed after the layer was unpacked');
    }
    const [should, has] = [attributesOf(expected.at), attributesOf(found.at)];
    for (const name of new Set([...should.keys(), ...has.keys()])) {
      if (has.get(name) !== should.get(name)) {
        this.#note(path, `has not the extended attribute ${name} that it should`);
      }
    }
  }

  /** Of directories that the layer only implies, and of whiteouts, the time is when they were made. */
  #hasAnyTime({ type, major, minor }: FileStatus, path: string): boolean {
    const isWhiteout = type === 'character' && major === 0 && minor === 0;
    return isWhiteout || (type === 'directory' && this.#options.implied.has(path));
  }

  #links(wanted: FileStatus, is: FileStatus, path: string): void {
    if (wanted.links < 2 && is.links < 2) {
      return;
    }
    const first = this.#expectedFirst.get(wanted.identity) ?? path;
    const foundFirst = this.#foundFirst.get(is.identity) ?? path;
    this.#expectedFirst.set(wanted.identity, first);
    this.#foundFirst.set(is.identity, foundFirst);
    if (first !== foundFirst) {
      const what = first === path ? `is one file with ${showName(foundFirst)}` : `is not ${showName(first)}`;
      this.#note(path, `${what}, as hard links go`);
    }
  }

  #note(path: string, what: string): void {
    this.problems.push(`${path === '' ? 'its root' : showName(path)} ${what}`);
  }
}

/** Those that a layer may carry, and overlayfs's own mark; values as text, one character per byte. */
function attributesOf(at: string): Map<string, string> {
  try {
    return new Map(
      listAttributes(at)
        .filter((name) => name === OPAQUE_ATTRIBUTE || attributePolicy(name) === 'apply')
        .map((name) => [name, getAttribute(at, name).toString('latin1')]),
    );
  } catch (error) {
    if (errnoOf(error) === 'ENOTSUP' || errnoOf(error) === 'EOPNOTSUPP') {
      return new Map();
    }
    throw error;
  }
}

function isSameContent(left: OpenFile, right: OpenFile): boolean {
  using one = files.reopen(left.fd, 'file');
  using other = files.reopen(right.fd, 'file');
  const [a, b] = [Buffer.alloc(READ_BYTES), Buffer.alloc(READ_BYTES)];
  for (;;) {
    const count = readSync(one.fd, a);
    if (readSync(other.fd, b) !== count || !a.subarray(0, count).equals(b.subarray(0, count))) {
      return false;
    }
    if (count === 0) {
      return true;
    }
  }
}
