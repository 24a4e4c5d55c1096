import type { SentStat } from '../../../api/types/build/session.ts';
import { normalizeName } from '../../../storage/tar/names.ts';
import type { TarMember, TarSink } from '../../../storage/tar/parser.ts';
import { timeNano } from './time-nano.ts';

/** Where the bytes of a file lie in the tar. */
export interface FileRange {
  offset: number;
  size: number;
}

/** The members of a tar as a list for a client that is sent files; each has a number, from 0. */
export class FileListing implements TarSink {
  /** Of regular files, by their numbers. */
  readonly ranges = new Map<number, FileRange>();
  #count = 0;
  #pending: SentStat[] = [];

  /** How many there are so far. */
  get count(): number {
    return this.#count;
  }

  /** What has come since the last call. */
  take(): SentStat[] {
    const pending = this.#pending;
    this.#pending = [];
    return pending;
  }

  member(member: TarMember): void {
    if (member.type === 'file') {
      this.ranges.set(this.#count, { offset: member.offset, size: member.size });
    }
    this.#count += 1;
    this.#pending.push(statOf(member));
  }

  raw(): void {
    // Headers tell nothing beyond the member.
  }

  data(): void {
    // Read from the spool when it is asked for.
  }

  memberEnd(): void {
    // Nothing to finish.
  }
}

/** A further name of a file is a file with the earlier name. Its size is left out, as BuildKit does. */
function statOf(member: TarMember): SentStat {
  const { type, mode, uid, gid, size, linkName, major, minor, attributes } = member;
  const isDevice = type === 'character' || type === 'block';
  return {
    path: normalizeName(member.name, 'files for the client'),
    type: isDevice ? 'device' : type === 'link' ? 'file' : type,
    mode: mode & 0o7777,
    uid,
    gid,
    size: type === 'file' ? size : 0,
    mtime: timeNano(member.mtime),
    linkName: type === 'link' ? normalizeName(linkName, 'files for the client') : linkName,
    attributes,
    ...(isDevice && { device: { kind: type, major, minor } }),
  };
}
