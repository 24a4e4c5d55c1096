import type { FileStatus } from '../../../daemon/base/kernel/files/file-status.ts';
import { AdjustingSink } from '../../files/adjust.ts';
import { isDifferent } from '../../files/changes.ts';
import { memberPath } from '../../files/member-path.ts';
import { plainDirectory, type PlacedMembers, type PlaceRequest } from '../../files/place.ts';
import { checkNumbers } from '../../tar/check-numbers.ts';
import { splitName } from '../../tar/names.ts';
import type { TarMember, TarSink } from '../../tar/parser.ts';
import { classifyName } from '../attributes.ts';
import type { LowerFiles } from './lower-files.ts';

/** Files that are put on layers, as COPY does, whose contents are in one file. */
export type ComposedFiles = PlaceRequest & { source: PlacedMembers };

/**
 * What a layer holds that puts files on others: the members that change something, and the directories they lie in, in
 * the order of their names, which are paths. Undefined where something becomes of another kind than it was, or the
 * members are more than files of one name, directories and symbolic links, or a name means that a file is gone: an
 * overlay settles what becomes of that.
 */
export function planLayer(files: ComposedFiles, lower: LowerFiles): TarMember[] | undefined {
  const members = membersOf(files);
  return members && new Plan(files, members, lower).made();
}

class Plan {
  readonly #files: ComposedFiles;
  readonly #members: ReadonlyMap<string, TarMember>;
  readonly #lower: LowerFiles;
  readonly #planned = new Map<string, TarMember>();
  /** Directories in which a name is new, or means another file than before. */
  readonly #touched = new Set<string>();

  constructor(files: ComposedFiles, members: ReadonlyMap<string, TarMember>, lower: LowerFiles) {
    this.#files = files;
    this.#members = members;
    this.#lower = lower;
  }

  made(): TarMember[] | undefined {
    for (const [path, member] of this.#members) {
      const before = this.#lower.status(path);
      if (before !== undefined && before.isDirectory !== (member.type === 'directory')) {
        return undefined;
      }
      if (before !== undefined && this.#isSame(path, before, member)) {
        continue;
      }
      this.#planned.set(path, before?.isDirectory === true ? this.#over(path, member) : member);
      if (before?.isDirectory !== true) {
        this.#touched.add(splitName(path).parent);
      }
      if (!this.#planParents(path)) {
        return undefined;
      }
    }
    const planned = [...this.#planned.values()];
    if (planned.some(({ name }) => classifyName(splitName(name).name).kind !== 'plain')) {
      return undefined;
    }
    return planned.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((each) => this.#timed(each));
  }

  /** False where one of them is no directory. */
  #planParents(path: string): boolean {
    for (let { parent } = splitName(path); parent !== ''; { parent } = splitName(parent)) {
      const known = this.#planned.get(parent);
      if (known !== undefined) {
        return known.type === 'directory';
      }
      const member = this.#members.get(parent);
      const before = this.#lower.status(parent);
      if ((member?.type ?? 'directory') !== 'directory' || before?.isDirectory === false) {
        return false;
      }
      if (before !== undefined) {
        this.#planned.set(
          parent,
          this.#over(parent, member ?? { ...plainDirectory(parent), ...before, type: 'directory' }),
        );
      } else {
        const { uid = 0, gid = 0 } = this.#files.owner ?? {};
        this.#planned.set(parent, member ?? { ...plainDirectory(parent), uid, gid });
        this.#touched.add(splitName(parent).parent);
      }
    }
    return true;
  }

  /** A directory that is there already keeps its attributes. */
  #over(path: string, member: TarMember): TarMember {
    return {
      ...member,
      size: 0,
      attributes: new Map([...this.#lower.attributes(path), ...member.attributes]),
    };
  }

  /** Of a directory that no member is, the time says when a name in it came to mean something else. */
  #timed(member: TarMember): TarMember {
    return !this.#members.has(member.name) && this.#touched.has(member.name)
      ? { ...member, mtime: plainDirectory(member.name).mtime }
      : member;
  }

  #isSame(path: string, before: FileStatus, member: TarMember): boolean {
    const { type, size, offset, attributes, linkName } = member;
    if (attributes.size > 0) {
      return false;
    }
    if (type === 'symlink') {
      const now = { ...before, ...member, mode: before.mode, size: before.size };
      return !isDifferent(before, now) && this.#lower.target(path) === linkName;
    }
    if (isDifferent(before, { ...before, ...member })) {
      return false;
    }
    return (
      type !== 'file' ||
      (this.#lower.attributes(path).size === 0 &&
        this.#lower.holds(path, { fd: this.#files.source.fd, offset, size }))
    );
  }
}

/** By path, with owners and modes. Undefined where one is of a kind that is not planned, or a name comes twice. */
function membersOf(files: ComposedFiles): Map<string, TarMember> | undefined {
  const { owner, adjustment, source, directories } = files;
  const members = new Map<string, TarMember>();
  let isPlain = true;
  const shared = new Set<string>();
  const isLinked = ({ sharedWith = '' }: TarMember): boolean => {
    const isKnown = sharedWith !== '' && shared.has(sharedWith);
    shared.add(sharedWith);
    return isKnown;
  };
  const collected: TarSink = {
    raw: () => undefined,
    data: () => undefined,
    memberEnd: () => undefined,
    member: (member) => {
      checkNumbers(member);
      const path = memberPath(member.name);
      isPlain &&= isPlannable(member) && !members.has(path) && !isLinked(member);
      // The root keeps what it is.
      if (path !== '') {
        members.set(path, { ...member, ...owner, name: path });
      }
    },
  };
  directories.forEach((name) => collected.member(plainDirectory(name)));
  const sink = adjustment === undefined ? collected : new AdjustingSink(collected, adjustment);
  source.members.forEach((member) => sink.member(member));
  return isPlain ? members : undefined;
}

function isPlannable({ type, sparse, linkName }: TarMember): boolean {
  return (
    sparse === undefined &&
    (type === 'file' || type === 'directory' || (type === 'symlink' && isTarget(linkName)))
  );
}

function isTarget(linkName: string): boolean {
  return linkName !== '' && !linkName.includes('\0');
}
