import type { BuildPruneReport } from '../../../api/types/image.ts';
import type { Filters } from '../../../api/types/requests.ts';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import { parseUntil } from '../../base/go/moment.ts';
import type { ImageRecord } from '../image-index.ts';
import { createdOf } from '../list.ts';
import type { ImageContext } from '../context.ts';
import { removeImage } from '../remove/removal.ts';

/**
 * Removes what steps of builds made and nothing needs: no name, no container, no image made from it. What a named image
 * was made from stays: its next build begins there.
 */
export async function pruneBuilds(context: ImageContext, filters: Filters): Promise<BuildPruneReport> {
  const pruned = await pruneSteps(context, filters);
  const reclaimed = pruned.reduce((sum, { bytes }) => sum + bytes, 0);
  const images = pruned.map(({ id }) => id);
  return { CachesDeleted: images.length === 0 ? null : images, SpaceReclaimed: reclaimed };
}

/** The same, image by image: what else went with one counts as its own. */
export async function pruneSteps(
  context: ImageContext,
  filters: Filters,
): Promise<{ id: string; bytes: number; createdMs: number }[]> {
  const { index } = context;
  const passes = pruneTest(filters, context.clock.nowNano());
  const layerBytes = new Map(
    [...index.layerIds()].map((id) => [index.layer(id).chainId, index.layer(id).sizeBytes]),
  );
  const pruned: { id: string; bytes: number; createdMs: number }[] = [];
  for (const image of index.images()) {
    const { id } = image.row;
    const isNeeded =
      index.tagsOf(id).length + index.digestsOf(id).length > 0 ||
      index.isParent(id) ||
      context.users(id).length > 0;
    if (index.isStep(id) && !isNeeded && passes(image)) {
      const createdMs = createdOf(image);
      const gone = await removeQuietly(context, id);
      const bytes = gone.reduce((sum, item) => sum + (layerBytes.get(item) ?? 0), 0);
      const images = gone.filter((item) => !layerBytes.has(item));
      pruned.push(...images.map((item, at) => ({ id: item, bytes: at === 0 ? bytes : 0, createdMs })));
    }
  }
  const reclaimed = pruned.reduce((sum, { bytes }) => sum + bytes, 0);
  const attributes = { reclaimed: String(reclaimed) };
  context.journal.note([{ type: 'builder', action: 'prune', actorId: '', attributes }]);
  return pruned;
}

async function removeQuietly(context: ImageContext, id: string): Promise<string[]> {
  try {
    const items = await removeImage(context, id, { force: false, noprune: false });
    return items.flatMap(({ Deleted }) => Deleted ?? []);
  } catch (error) {
    if (!isEngineError(error, 'conflict')) {
      throw error;
    }
    // A container or build began to use it.
    return [];
  }
}

/** Pure. Throws invalid_argument for a key that this engine's cache has no answer to. */
export function pruneTest(filters: Filters, nowNano: bigint): (image: ImageRecord) => boolean {
  const tests: ((image: ImageRecord) => boolean)[] = [];
  for (const [key, values] of filters) {
    switch (key) {
      case 'until': {
        const limitMs = Number(parseUntil(values, nowNano) / 1_000_000n);
        tests.push((image) => createdOf(image) <= limitMs);
        break;
      }
      case 'id':
        tests.push(({ row }) =>
          values.some((value) => row.id === value || row.id.startsWith(`sha256:${value}`)),
        );
        break;
      default:
        throw invalidArgument(`invalid filter '${key}'`);
    }
  }
  return (image) => tests.every((test) => test(image));
}
