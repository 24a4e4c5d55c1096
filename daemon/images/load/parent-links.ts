import { isDeepStrictEqual } from 'node:util';
import { invalidArgument } from '../../base/errors.ts';
import type { ImageRecord } from '../image-index.ts';
import type { ImageContext } from '../context.ts';

/** What a tarball says an image was made from; `''` = nothing is said. */
export interface ParentLink {
  id: string;
  parentId: string;
}

/**
 * Images of one tarball that were made from one another are so here as well (moby image/tarexport). A parent that the
 * tarball does not hold is not looked for. What is known of an image here stays. One transaction. Throws
 * invalid_argument for a parent that the image cannot have been made from.
 */
export function linkParents({ journal, database, index }: ImageContext, links: readonly ParentLink[]): void {
  const loaded = new Set(links.map(({ id }) => id));
  const rows = links.flatMap(({ id, parentId }) => {
    const [image, parent] = [index.get(id), index.get(parentId)];
    const isNew = loaded.has(parentId) && parentId !== id && index.parentOf(id) === undefined;
    if (!isNew || image === undefined || parent === undefined) {
      return [];
    }
    if (!isParent(parent, image)) {
      throw invalidArgument(`image ${parentId} is not a valid parent for ${id}`);
    }
    return [{ imageId: id, parentId, stepKey: null }];
  });
  if (rows.length === 0) {
    return;
  }
  journal.commit(() => {
    rows.forEach((row) => database.parents.set(row));
  });
  rows.forEach((row) => index.setParent(row));
}

/** One step more than its parent, so that no image can be its own ancestor. Pure. */
function isParent(
  { config: { history: before } }: ImageRecord,
  { config: { history } }: ImageRecord,
): boolean {
  return history.length === before.length + 1 && isDeepStrictEqual(history.slice(0, before.length), before);
}
