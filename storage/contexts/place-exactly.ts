import type { FileTime } from '../../daemon/base/kernel/files/file-status.ts';
import { ifThere, invalidArgument } from '../../daemon/base/errors.ts';
import { canonicalPath, GONE, locate } from '../files/path-handle.ts';
import type { PlaceRequest } from '../files/place.ts';
import { toBytes, type FilesView } from '../files/view.ts';
import type { SourcePlacement } from './place-source.ts';
import { statOf } from './roots.ts';
import { unpackArchive, type Unpacker } from './unpack.ts';

/** What the copy of a client's graph says, where COPY and ADD leave no choice. */
export interface ExactPlacement extends Omit<SourcePlacement, 'below' | 'adjust'> {
  /** Of a directory only what lies in it; else a directory becomes one in a target that is there, or the target. */
  copiesContents: boolean;
  /** What is there and of another kind goes; else it is an error. */
  replaces: boolean;
  /** A link that is the source is copied itself. */
  keepsLinks: boolean;
  include: readonly string[];
  exclude: readonly string[];
  chmod: string;
  /** Of all that is made. */
  mtime?: FileTime;
}

/**
 * Puts a source into a view as BuildKit's FileActionCopy does: what is made of directories that are not there is
 * root's, or `owner`'s, with mode 0755. Throws invalid_argument where kinds do not fit, else as place.ts and unpack.ts.
 */
export async function placeExactly(
  unpacker: Unpacker,
  view: FilesView,
  placement: ExactPlacement,
): Promise<void> {
  const { source, target, unpacks, unpackedOwner, copiesContents, replaces } = placement;
  const there = statOf(view, target);
  if (unpacks && source.kind === 'member' && source.unpacks) {
    if (
      await unpackArchive(unpacker, view, {
        source,
        directory: target,
        there,
        ...(unpackedOwner && { owner: unpackedOwner }),
      })
    ) {
      return;
    }
  }
  if (source.isDirectory && there === 'other' && !replaces) {
    throw invalidArgument(`cannot copy to non-directory: ${target}`);
  }
  // A link at the end of it is followed, also to where nothing is yet.
  const path = canonicalPath(view, toBytes(target)).slice(1);
  const isDirectory = there === 'directory' || target.endsWith('/');
  const isInside = isDirectory && !(source.isDirectory && copiesContents);
  const name = [path, isInside ? source.name : ''].filter((part) => part !== '').join('/');
  const isThere = name === path ? there === 'directory' : isDirectoryAt(view, name);
  const isWhole = source.isDirectory && !copiesContents && !isThere;
  const isMade = source.isDirectory && copiesContents && !isThere;
  const made = [target.endsWith('/') && there === 'nothing' ? path : '', isMade ? name : ''];
  const { archives, signal } = unpacker;
  await archives.place(requestOf(placement, { view, name, isWhole, made: [...new Set(made)] }), signal);
}

function requestOf(
  placement: ExactPlacement,
  { view, name, isWhole, made }: { view: FilesView; name: string; isWhole: boolean; made: readonly string[] },
): PlaceRequest {
  const { source, owner, sourceView, mtime, keepsLinks, include, exclude, chmod, replaces } = placement;
  const own = source.kind === 'member' && isWhole && name !== '' ? source.directory : undefined;
  const below = source.kind === 'member' ? source.members(name) : [];
  return {
    view,
    what: 'build',
    keepsKinds: !replaces,
    ...(owner && { owner }),
    ...(mtime && { mtime }),
    directories: made.filter((directory) => directory !== ''),
    source:
      source.kind === 'member'
        ? {
            kind: 'members',
            fd: source.fd,
            members: own === undefined ? below : [{ ...own, name }, ...below],
          }
        : {
            kind: 'tree',
            view: sourceView ?? view,
            items: [{ path: source.path, name, keepsLink: keepsLinks, isWhole }],
          },
    adjustment: { prefix: name, include, exclude, chmod, keepsRoot: true },
  };
}

function isDirectoryAt(view: FilesView, name: string): boolean {
  const found = ifThere(() => {
    using handle = locate(view, `/${name}`, { followLast: true });
    return handle.status.isDirectory;
  }, GONE);
  return found === true;
}
