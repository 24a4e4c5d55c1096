import type { ImagePruneReport } from '../../../api/types/image.ts';
import type { Filters } from '../../../api/types/requests.ts';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import { filterBool, hasLabel } from '../../base/filters.ts';
import { parseUntil } from '../../base/go/moment.ts';
import type { ImageRecord } from '../image-index.ts';
import type { ImageContext } from '../context.ts';
import { createdOf } from '../list.ts';
import { removeImage } from './removal.ts';
import { labelsOf } from '../wire.ts';

/**
 * Removes images that no container was made from: those without a name, with `dangling=false` named ones too. Answers
 * what was removed and how many bytes of layers that freed.
 */
export async function pruneImages(context: ImageContext, filters: Filters): Promise<ImagePruneReport> {
  const { index } = context;
  const passes = pruneTest(filters, context.clock.nowNano());
  const layerBytes = new Map(
    [...index.layerIds()].map((id) => [index.layer(id).chainId, index.layer(id).sizeBytes]),
  );
  const deleted: ImagePruneReport['ImagesDeleted'] = [];
  // What images were made from comes after them, so that a base goes in the same go as the last image made from it.
  const depth = new Map([...index.images()].map((image) => [image, index.lineageOf(image).length]));
  const youngestFirst = [...depth].toSorted(([, a], [, b]) => b - a).map(([image]) => image);
  for (const image of youngestFirst) {
    const { id } = image.row;
    const names = { tags: index.tagsOf(id).length, digests: index.digestsOf(id).length };
    const isStep = names.tags + names.digests === 0 && index.childrenOf(id).length > 0;
    const isNeeded =
      index.lists.isListed(id) ||
      [id, ...index.lists.companionsOf(id)].some(
        (each) => index.isHeld(each) || context.users(each).length > 0,
      );
    if (!isStep && passes(image, names.tags > 0) && !isNeeded && index.get(id) === image) {
      deleted.push(...(await removeQuietly(context, id)));
    }
  }
  const reclaimed = deleted.reduce((sum, { Deleted = '' }) => sum + (layerBytes.get(Deleted) ?? 0), 0);
  const attributes = { reclaimed: String(reclaimed) };
  context.journal.note([{ type: 'image', action: 'prune', actorId: '', attributes }]);
  return { ImagesDeleted: deleted.length === 0 ? null : deleted, SpaceReclaimed: reclaimed };
}

/** All names, then the image. Nothing when something needs it after all. */
async function removeQuietly(
  context: ImageContext,
  id: string,
): Promise<Awaited<ReturnType<typeof removeImage>>> {
  try {
    // By force, because it may have names in several repositories: what is in use was left out.
    return await removeImage(context, id, { force: true, noprune: false });
  } catch (error) {
    if (!isEngineError(error, 'conflict')) {
      throw error;
    }
    context.log.warn({ image: id, err: error }, 'prune left an image');
    return [];
  }
}

type Test = (image: ImageRecord, hasTag: boolean) => boolean;

/** Pure. Throws invalid_argument for an unknown key or a value that cannot be read. */
export function pruneTest(filters: Filters, nowNano: bigint): Test {
  const tests: Test[] = [];
  let isDanglingOnly = true;
  for (const [key, values] of filters) {
    switch (key) {
      case 'dangling':
        isDanglingOnly = values.length === 0 || filterBool('dangling', values);
        break;
      case 'label':
        tests.push((image) => values.every((value) => hasLabel(labelsOf(image), value)));
        break;
      case 'label!':
        tests.push((image) => !values.some((value) => hasLabel(labelsOf(image), value)));
        break;
      case 'until': {
        const limitMs = Number(parseUntil(values, nowNano) / 1_000_000n);
        tests.push((image) => createdOf(image) <= limitMs);
        break;
      }
      default:
        throw invalidArgument(`invalid filter '${key}'`);
    }
  }
  return (image, hasTag) => !(isDanglingOnly && hasTag) && tests.every((test) => test(image, hasTag));
}
