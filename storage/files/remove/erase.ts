/** @path-hostile */
import { EngineError, ifThere, invalidArgument } from '../../../daemon/base/errors.ts';
import { splitName } from '../../tar/names.ts';
import { childOf, GONE, locate } from '../path-handle.ts';
import { removeAt } from './remove-at.ts';
import { matching } from '../select.ts';
import { toText, type FilesView } from '../view.ts';

export interface EraseRequest {
  view: FilesView;
  /** A path as a byte string; with `isPattern` `*`, `?` and `[` in it match names. */
  path: string;
  isPattern: boolean;
}

/**
 * Removes what a path means, with all below it; a link at its end is removed itself. Answers how many there were.
 * Throws invalid_argument for the root, canceled. Synchronous, for a worker.
 */
export function erase({ view, path, isPattern }: EraseRequest, isCanceled: () => boolean): number {
  let erased = 0;
  for (const found of isPattern ? matching(view, path) : [path]) {
    if (isCanceled()) {
      throw new EngineError('canceled', 'removing files: canceled');
    }
    erased += eraseOne(view, found) ? 1 : 0;
  }
  return erased;
}

function eraseOne(view: FilesView, path: string): boolean {
  const { parent, name } = splitName(path.replace(/\/+$/, ''));
  if (name === '' || name === '.' || name === '..') {
    throw invalidArgument(`rm ${toText(path)}: the root cannot be removed`);
  }
  const isGone = ifThere(() => {
    using directory = locate(view, parent || '/', { followLast: true });
    // A mount of the view has no name in its directory.
    using _found = childOf(view, directory, name);
    removeAt(directory.fd, name);
    return true;
  }, GONE);
  return isGone === true;
}
