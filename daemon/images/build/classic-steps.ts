import type { ClassicSteps, UsageRecord } from '../../build/ports.ts';
import type { ImageContext } from '../context.ts';
import { createdOf } from '../list.ts';
import { parseName } from './build.ts';
import { pruneSteps } from './prune.ts';

/** What clients of BuildKit see of the classic builder: what its steps have left. */
export function classicSteps(images: ImageContext): ClassicSteps {
  return {
    refuseNames: (names) => names.forEach((name) => parseName(name)),
    usage: () => usage(images),
    prune: async (filters) => {
      const pruned = await pruneSteps(images, filters);
      return pruned.map((record) => ({ ...OF_STEP, ...record, description: '', inUse: false }));
    },
  };
}

const OF_STEP = { type: 'regular', parents: [], usageCount: 1, isShared: false, isMutable: false } as const;

/** Images that steps made and no name leads to. */
function usage(images: ImageContext): UsageRecord[] {
  const { index } = images;
  return [...index.images()]
    .filter(
      ({ row }) => index.isStep(row.id) && index.tagsOf(row.id).length + index.digestsOf(row.id).length === 0,
    )
    .map((image) => {
      const { id, layerIds } = image.row;
      const own = layerIds.filter((layer) => !(index.parentOf(id)?.row.layerIds ?? []).includes(layer));
      return {
        ...OF_STEP,
        id,
        bytes: own.reduce((sum, layer) => sum + index.layer(layer).sizeBytes, 0),
        createdMs: createdOf(image),
        description: image.config.history.at(-1)?.createdBy ?? '',
        inUse: index.isParent(id) || images.users(id).length > 0,
      };
    });
}
