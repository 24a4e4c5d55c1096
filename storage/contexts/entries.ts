import { createHash, type Hash } from 'node:crypto';
import { invalidArgument, unreachable } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { memberPath } from '../files/member-path.ts';
import { showName, splitName } from '../tar/names.ts';
import { plainMember } from '../tar/plain-member.ts';
import type { TarMember, TarSink } from '../tar/parser.ts';

/** Something in a build's context. The bytes of a file stay in the tar that was sent. */
export interface ContextEntry {
  /** Below the context's root, a byte string without leading slash. */
  path: string;
  member: TarMember;
  /** sha256 of a file's content, and where that lies in a sparse one; `''` for anything else. */
  digest: string;
}

/**
 * Notes what the tar of a context holds while it passes by: nothing of it is ever unpacked as it is, so that no name in
 * it can lead anywhere. Later members win over earlier ones of the same name.
 */
export class ContextEntries implements TarSink {
  readonly #entries = new Map<string, ContextEntry>();
  #file: { entry: ContextEntry; hash: Hash } | undefined;

  raw(): void {
    // Headers and padding say nothing more.
  }

  member(member: TarMember): void {
    const path = memberPath(member.name, limits.contextDepthMax);
    if (path === '') {
      return;
    }
    if (this.#entries.size >= limits.contextEntriesMax) {
      throw invalidArgument(`build context: more than ${limits.contextEntriesMax} files`);
    }
    const entry = { path, member, digest: '' };
    switch (member.type) {
      case 'file':
        this.#file = { entry, hash: createHash('sha256') };
        break;
      case 'link':
        this.#put(this.#linked(entry));
        break;
      case 'directory':
      case 'symlink':
        this.#put(entry);
        break;
      case 'character':
      case 'block':
      case 'fifo':
        // No build reads them from a context; dockerd's clients leave them out.
        throw invalidArgument(`build context: entry ${showName(member.name)} is a ${member.type}`);
      default:
        unreachable(member.type);
    }
  }

  data(bytes: Buffer): void {
    this.#file?.hash.update(bytes);
  }

  memberEnd(): void {
    const file = this.#file;
    if (file !== undefined) {
      this.#file = undefined;
      const { sparse } = file.entry.member;
      const extents = sparse === undefined ? '' : JSON.stringify(sparse);
      this.#put({ ...file.entry, digest: file.hash.digest('hex') + extents });
    }
  }

  /** By path. */
  get all(): Map<string, ContextEntry> {
    return this.#entries;
  }

  /** A further name of a file that came before: the same bytes. */
  #linked(entry: ContextEntry): ContextEntry {
    const target = this.#entries.get(memberPath(entry.member.linkName, limits.contextDepthMax));
    if (target === undefined || target.member.type === 'directory') {
      throw invalidArgument(
        `build context: entry ${showName(entry.member.name)}: hard link to ${showName(entry.member.linkName)}, ` +
          'which is no file of it',
      );
    }
    const { path } = target;
    const member = { ...target.member, sharedWith: target.member.sharedWith ?? path };
    this.#entries.set(path, { ...target, member });
    return { ...target, path: entry.path, member };
  }

  #put(entry: ContextEntry): void {
    this.#parents(entry.path);
    const before = this.#entries.get(entry.path);
    if (before?.member.type === 'directory' && entry.member.type !== 'directory') {
      this.#removeBelow(entry.path);
    }
    this.#entries.set(entry.path, entry);
  }

  #parents(path: string): void {
    const { parent } = splitName(path);
    if (parent === '') {
      return;
    }
    const known = this.#entries.get(parent);
    if (known?.member.type === 'directory') {
      return;
    }
    if (known !== undefined) {
      throw invalidArgument(`build context: entry ${showName(path)} lies in something that is no directory`);
    }
    const member = plainMember(parent, { type: 'directory', mode: 0o755, mtimeSeconds: 0 });
    this.#put({ path: parent, member, digest: '' });
  }

  #removeBelow(path: string): void {
    const prefix = `${path}/`;
    for (const known of this.#entries.keys()) {
      if (known.startsWith(prefix)) {
        this.#entries.delete(known);
      }
    }
  }
}
