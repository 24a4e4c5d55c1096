import { invalidArgument } from '../../daemon/base/errors.ts';
import type { Adjustment } from '../files/adjust.ts';
import { canonicalPath } from '../files/path-handle.ts';
import type { PlaceRequest } from '../files/place.ts';
import { toBytes, type FilesView } from '../files/view.ts';
import { statOf } from './roots.ts';
import type { Source } from './sources.ts';
import { unpackArchive, type Unpacker } from './unpack.ts';

/** What a COPY or ADD does with one of its sources. */
export interface SourcePlacement {
  /** `COPY` or `ADD`, for errors. */
  what: string;
  source: Source;
  /** Absolute; a slash at its end means a directory. */
  target: string;
  /** Undefined = as the source has it. */
  owner?: { uid: number; gid: number };
  /** Archives are unpacked. */
  unpacks: boolean;
  /** Of what is unpacked; undefined = as the archive has it. */
  unpackedOwner?: { uid: number; gid: number };
  /** Of a source that is a tree. */
  sourceView?: FilesView;
  /** Path below the target that the source gets, whatever it is (`--parents`). A byte string. */
  below?: string;
  adjust?: Pick<Adjustment, 'exclude' | 'chmod'>;
  /** As of `PlaceRequest`. */
  keepsKinds?: boolean;
}

/** Puts a source into a view, as a Dockerfile's COPY and ADD do. Throws as place.ts and unpack.ts. */
export async function placeSource(
  placer: Unpacker,
  view: FilesView,
  placement: SourcePlacement,
): Promise<void> {
  const { source, target, unpacks, unpackedOwner } = placement;
  if (unpacks && source.kind === 'member' && source.unpacks) {
    const there = statOf(view, target);
    if (
      await unpackArchive(placer, view, {
        source,
        directory: target,
        there,
        ...(unpackedOwner && { owner: unpackedOwner }),
      })
    ) {
      return;
    }
  }
  await placer.archives.place(requestOf(view, placement), placer.signal);
}

/** Where the source goes, and what is made on the way. Throws invalid_argument where something else is there. */
export function requestOf(
  view: FilesView,
  { what, source, target, owner, sourceView, below, adjust, keepsKinds = false }: SourcePlacement,
): PlaceRequest {
  const there = statOf(view, target);
  if (source.isDirectory && there === 'other') {
    throw invalidArgument(`${keepsKinds ? '' : `${what}: `}cannot copy to non-directory: ${target}`);
  }
  // A link at the end of it is followed, also to where nothing is yet.
  const path = canonicalPath(view, toBytes(target)).slice(1);
  const isInside = !source.isDirectory && (target.endsWith('/') || there === 'directory');
  const name = joined(path, below ?? (isInside ? source.name : ''));
  const directories = source.isDirectory && (there === 'nothing' || below !== undefined) ? [name] : [];
  return {
    view,
    what: 'build',
    keepsKinds,
    ...(owner && { owner }),
    directories: directories.filter((directory) => directory !== ''),
    source:
      source.kind === 'member'
        ? { kind: 'members', fd: source.fd, members: source.members(name) }
        : { kind: 'tree', view: sourceView ?? view, items: [{ path: source.path, name }] },
    ...(adjust &&
      isAdjusting(adjust) && { adjustment: { ...adjust, prefix: below === undefined ? name : path } }),
  };
}

function joined(...parts: string[]): string {
  return parts.filter((part) => part !== '').join('/');
}

function isAdjusting({ exclude, chmod }: Pick<Adjustment, 'exclude' | 'chmod'>): boolean {
  return exclude.length > 0 || chmod !== '';
}
