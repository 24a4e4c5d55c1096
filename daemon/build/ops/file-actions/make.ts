import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { statOf } from '../../../../storage/contexts/roots.ts';
import { canonicalPath, locate } from '../../../../storage/files/path-handle.ts';
import { toBytes, type FilesView } from '../../../../storage/files/view.ts';
import type { TarMember } from '../../../../storage/tar/parser.ts';
import { plainMember } from '../../../../storage/tar/plain-member.ts';
import { errnoOf, ifThere, invalidArgument, notFound } from '../../../base/errors.ts';
import type { FileTime } from '../../../base/kernel/files/file-status.ts';
import type { MakeDirectory, MakeFile, MakeLink } from '../../graph/op.ts';
import { ownerOf, type FilesWork } from './owners.ts';

const NOTHING = { kind: 'members', fd: -1, members: [] } as const;

/** One that is there stays as it is. */
export async function makeDirectory(work: FilesWork, action: MakeDirectory): Promise<void> {
  const { view } = work;
  const { path, mode, parents } = action;
  const there = statOf(view, path);
  if (there === 'other') {
    throw invalidArgument(`Cannot mkdir: ${path} is not a directory`);
  }
  if (there === 'directory') {
    return;
  }
  if (parents === 'none') {
    refuseWithoutParent(view, path, 'mkdir');
  }
  const place = canonicalPath(view, toBytes(path)).slice(1);
  const missing = parents === 'same' ? missingAbove(view, place) : [];
  const mtime = action.mtime ?? now();
  const members = [...missing, place].map((name) => ({
    ...plainMember(name, { type: 'directory', mode, mtimeSeconds: 0 }),
    mtime,
  }));
  await put(work, action, members);
}

/** One that is there keeps its mode, and its owner unless one is said; a link is followed to where it leads. */
export async function makeFile(work: FilesWork, action: MakeFile): Promise<void> {
  const { deps, view, signal } = work;
  const { path, content, isBase64, mode, needsParent } = action;
  if (needsParent) {
    refuseWithoutParent(view, path, 'open');
  }
  const place = canonicalPath(view, toBytes(path)).slice(1);
  const before = ifThere(() => {
    using found = locate(view, `/${place}`, { followLast: false });
    return found.status;
  });
  if (before?.isDirectory) {
    throw invalidArgument(`open ${path}: is a directory`);
  }
  const bytes = Readable.from([Buffer.from(content, isBase64 ? 'base64' : 'utf8')]);
  await using spool = await deps.spools.raw(bytes, { what: path, signal });
  const made = plainMember(place, { type: 'file', mode, mtimeSeconds: 0 });
  const { uid = 0, gid = 0, mode: kept = mode } = before ?? {};
  const member = { ...made, mode: kept, size: spool.size, mtime: action.mtime ?? now() };
  await put(work, { ...action, ...(action.owner === '' && { ids: { uid, gid } }) }, [member], spool.fd);
}

export async function makeLink(work: FilesWork, action: MakeLink): Promise<void> {
  const { view } = work;
  const { path, target } = action;
  refuseWithoutParent(view, path, 'symlink');
  const place = parentOf(view, path);
  const there = ifThere(() => {
    using _found = locate(view, `/${place}`, { followLast: false });
    return true;
  });
  if (there) {
    throw invalidArgument(`symlink ${target} ${path}: file exists`);
  }
  const made = plainMember(place, { type: 'file', mode: 0o777, mtimeSeconds: 0 });
  const mtime = action.mtime ?? now();
  await put(work, action, [{ ...made, type: 'symlink', linkName: toBytes(target), mtime }]);
}

/** Makes members whose bytes, if any, are in an open file; `ids` is in place of a name that is to be looked up. */
async function put(
  work: FilesWork,
  action: (MakeDirectory | MakeFile | MakeLink) & { ids?: { uid: number; gid: number } },
  members: readonly TarMember[],
  fd = -1,
): Promise<void> {
  await work.deps.archives.place(
    {
      view: work.view,
      what: 'build',
      owner: action.ids ?? (await ownerOf(work, action)),
      directories: [],
      source: { ...NOTHING, fd, members },
    },
    work.signal,
  );
}

/** Where the last name of a path stands, links above it followed; below the root, a byte string. */
function parentOf(view: FilesView, path: string): string {
  const parts = toBytes(path).split('/');
  const above = canonicalPath(view, parts.slice(0, -1).join('/') || '/').slice(1);
  return [above, parts.at(-1) ?? ''].filter((part) => part !== '').join('/');
}

function missingAbove(view: FilesView, place: string): string[] {
  const parts = place.split('/');
  const above = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
  return above.filter(
    (name) =>
      ifThere(() => {
        using _found = locate(view, `/${name}`, { followLast: true });
        return true;
      }) !== true,
  );
}

/** Throws not_found in the kernel's words where the directory that a path lies in is not there. */
function refuseWithoutParent(view: FilesView, path: string, what: string): void {
  let isDirectory = false;
  try {
    using found = locate(view, toBytes(posix.dirname(path)), { followLast: true });
    ({ isDirectory } = found.status);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      throw notFound(`${what} ${path}: no such file or directory`, { cause: error });
    }
    if (errnoOf(error) === 'ELOOP') {
      throw invalidArgument(`${what} ${path}: too many levels of symbolic links`, { cause: error });
    }
    if (errnoOf(error) !== 'ENOTDIR') {
      throw error;
    }
  }
  if (!isDirectory) {
    throw invalidArgument(`${what} ${path}: not a directory`);
  }
}

function now(): FileTime {
  return { seconds: Math.floor(Date.now() / 1000), nanoseconds: 0 };
}
