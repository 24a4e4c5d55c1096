import { toBytes } from '../../../../storage/files/view.ts';
import { invalidArgument, notFound } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import type { RemoveFiles } from '../../graph/op.ts';
import type { FilesWork } from './owners.ts';

/** Links at the end of a path go themselves. A pattern may mean nothing. */
export async function removeFiles({ deps, view, signal }: FilesWork, action: RemoveFiles): Promise<void> {
  const { path, isPattern, mayMiss } = action;
  if (path === '/') {
    throw invalidArgument(`rm ${path}: the root cannot be removed`);
  }
  failpoint('build.ops.rm');
  const erased = await deps.archives.erase({ view, path: toBytes(path), isPattern }, signal);
  if (erased === 0 && !isPattern && !mayMiss) {
    throw notFound(`stat ${path}: no such file or directory`);
  }
}
