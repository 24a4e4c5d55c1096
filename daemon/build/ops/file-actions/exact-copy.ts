import { posix } from 'node:path';
import type { ContextEntry } from '../../../../storage/contexts/entries.ts';
import { placeExactly } from '../../../../storage/contexts/place-exactly.ts';
import { openReadRoot, type ReadRoot } from '../../../../storage/contexts/roots.ts';
import type { Source } from '../../../../storage/contexts/sources.ts';
import { canonicalPath, locate } from '../../../../storage/files/path-handle.ts';
import { toBytes, toText, type FilesView } from '../../../../storage/files/view.ts';
import { plainMember } from '../../../../storage/tar/plain-member.ts';
import { errnoOf, notFound } from '../../../base/errors.ts';
import { reopen } from '../../../base/kernel/files/files.ts';
import type { CopyFiles, ExactCopy } from '../../graph/op.ts';
import { openTree } from '../open-tree.ts';
import { findSources, readingOf } from '../sources.ts';
import { ROOT } from '../owner.ts';
import { ownerOf, type FilesWork } from './owners.ts';

/** A copy of a client's graph (BuildKit's FileActionCopy). Throws not_found, and as `placeExactly`. */
export async function copyExactly(work: FilesWork, action: CopyFiles, exact: ExactCopy): Promise<void> {
  const { deps, view, inputs, signal } = work;
  const { destination, sources, owner: named, mtime } = action;
  if (!exact.makesParents) {
    refuseWithoutParent(view, destination);
  }
  const from = inputs[action.from];
  const found = await findSources(deps, from, { sources, signal, ...readingOf(action) });
  if (found.length === 0 && exact.mustMatch) {
    throw notFound(`${sources.join(' ')} not found`);
  }
  const isTree = from?.content.kind !== 'files';
  await using read = isTree ? await openReadRoot(deps, openTree(deps, from)) : undefined;
  // Files of a client are root's; those of another tree keep whose they are.
  const owner = named === '' ? (isTree ? undefined : ROOT) : await ownerOf(work, action);
  const { copiesContents, replaces, include, followsLinks } = exact;
  for (const { source } of found) {
    using file = action.unpacks && read !== undefined ? openFile(read, source) : undefined;
    await placeExactly({ ...deps, signal }, view, {
      what: 'copy',
      source: file?.source ?? source,
      target: destination,
      unpacks: action.unpacks,
      copiesContents,
      replaces,
      include,
      exclude: action.exclude,
      chmod: action.chmod,
      keepsLinks: !followsLinks,
      ...(owner && { owner }),
      ...(owner && named !== '' && { unpackedOwner: owner }),
      ...(mtime && { mtime }),
      ...(read && { sourceView: read.view }),
    });
  }
}

/** A file of a tree as one of a client's, so that it is unpacked where it is an archive; undefined = it is no file. */
function openFile(
  { view }: ReadRoot,
  source: Source,
): (Disposable & { source: Source | undefined }) | undefined {
  using found = locate(view, source.path, { followLast: true });
  if (!found.status.isFile) {
    return undefined;
  }
  const { size, mode, uid, gid, mtime } = found.status;
  const file = reopen(found.fd, 'file');
  const member = {
    ...plainMember(source.name, { type: 'file', mode, mtimeSeconds: 0 }),
    size,
    uid,
    gid,
    mtime,
  };
  const entry: ContextEntry = { path: source.name, member, digest: '' };
  return {
    source: {
      ...source,
      kind: 'member',
      fd: file.fd,
      entry,
      unpacks: true,
      members: (name) => [{ ...member, name }],
    },
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}

/** In the words of BuildKit, which looks at the directory that a destination lies in. */
function refuseWithoutParent(view: FilesView, destination: string): void {
  const directory = posix.dirname(canonicalPath(view, toBytes(destination)) || '/');
  try {
    using _found = locate(view, directory, { followLast: true });
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      const path = toText(directory);
      throw notFound(`failed to stat ${destination}: lstat ${path}: no such file or directory`, {
        cause: error,
      });
    }
    throw error;
  }
}
