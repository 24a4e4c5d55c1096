import { placeSource } from '../../../../storage/contexts/place-source.ts';
import { openReadRoot } from '../../../../storage/contexts/roots.ts';
import type { CopyFiles } from '../../graph/op.ts';
import { openTree } from '../open-tree.ts';
import { findSources, readingOf } from '../sources.ts';
import { ROOT } from '../owner.ts';
import { ownerOf, type FilesWork } from './owners.ts';

/** As COPY and ADD of a Dockerfile do it. */
export async function copy(work: FilesWork, action: CopyFiles): Promise<void> {
  const { deps, view, inputs, signal } = work;
  const from = inputs[action.from];
  const isTree = from?.content.kind !== 'files';
  const owner = action.owner === '' ? undefined : await ownerOf(work, action);
  const { sources } = action;
  const found = work.found ?? (await findSources(deps, from, { sources, signal, ...readingOf(action) }));
  await using read = isTree ? await openReadRoot(deps, openTree(deps, from)) : undefined;
  for (const { source, asked } of found) {
    await placeSource({ ...deps, signal }, view, {
      what: action.unpacks ? 'ADD' : 'COPY',
      source,
      target: action.destination,
      unpacks: action.unpacks,
      // Files of a client are root's; those of another tree keep whose they are.
      ...(owner === undefined && isTree ? {} : { owner: owner ?? ROOT }),
      // The classic builder leaves what it unpacks to those whom the archive names.
      ...(owner && action.isClassic !== true && { unpackedOwner: owner }),
      ...(read && { sourceView: read.view }),
      ...(action.keepsParents && { below: belowPivot(source.path, asked) }),
      keepsKinds: action.isClassic !== true,
      adjust: { exclude: action.exclude, chmod: action.chmod },
    });
  }
}

/** What of a path stands behind the `/./` of its pattern; all of it where there is none. Pure. */
export function belowPivot(path: string, asked: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  const pivot = asked.lastIndexOf('/./');
  const skipped =
    pivot === -1
      ? 0
      : asked
          .slice(0, pivot)
          .split('/')
          .filter((part) => part !== '' && part !== '.').length;
  return parts.slice(skipped).join('/');
}
