import type { ImageDeleteItem } from '../../../api/types/image.ts';
import { failpoint } from '../../base/failpoint.ts';
import { imageEvent } from '../events.ts';
import { digestName, isFullDigest, tagName, type ImageRecord } from '../image-index.ts';
import type { ImageContext } from '../context.ts';
import { decideRemoval, type RemovalPlan } from './remove.ts';

/**
 * Removes a name of an image, or the image: with its layers, and unless `noprune` with the unnamed images that it was
 * made from and nothing else needs, and those for other platforms that were here beside it. Throws conflict with
 * dockerd's texts.
 */
export async function removeImage(
  context: ImageContext,
  ref: string,
  options: { force: boolean; noprune: boolean },
): Promise<ImageDeleteItem[]> {
  const { index } = context;
  const image = index.find(ref);
  const imageId = image.row.id;
  const [listedIn] = index.lists.having(imageId).filter((list) => list.imageId !== imageId);
  const plan = decideRemoval({
    imageId,
    asked: isFullDigest(ref) ? imageId : ref,
    tags: index.tagsOf(imageId),
    digests: index.digestsOf(imageId),
    users: context.users(imageId),
    hasChildren: index.isParent(imageId),
    listedIn: listedIn && (index.namesOf(listedIn.imageId)[0] ?? listedIn.imageId),
    force: options.force,
  });
  const parents = plan.removeImage && !options.noprune ? uselessParents(context, image) : [];
  const companions = plan.removeImage ? uselessCompanions(context, image) : [];
  return await carryOut(context, image, plan, [...companions, ...parents]);
}

/** Images that are here only beside this one, for other platforms. */
function uselessCompanions(context: ImageContext, image: ImageRecord): ImageRecord[] {
  const { index } = context;
  const own = new Set(index.lists.of(image.row.id).map(({ id }) => id));
  return index.lists.companionsOf(image.row.id).flatMap((id) => {
    const isNeeded =
      index.tagsOf(id).length + index.digestsOf(id).length > 0 ||
      index.isParent(id) ||
      context.users(id).length > 0 ||
      index.lists.having(id).some((list) => !own.has(list.id));
    return isNeeded ? [] : (index.get(id) ?? []);
  });
}

/** Images without a name that only this one was made from, nearest first. */
function uselessParents(context: ImageContext, image: ImageRecord): ImageRecord[] {
  const { index } = context;
  const useless: ImageRecord[] = [];
  for (let below = image; ;) {
    const parent = index.parentOf(below.row.id);
    if (parent === undefined) {
      return useless;
    }
    const { id } = parent.row;
    const isNeeded = index.tagsOf(id).length + index.digestsOf(id).length > 0 || index.isHeld(id);
    if (isNeeded || context.users(id).length > 0 || index.childrenOf(id).some((child) => child !== below)) {
      return useless;
    }
    useless.push(parent);
    below = parent;
  }
}

async function carryOut(
  { database, journal, index, collector }: ImageContext,
  image: ImageRecord,
  plan: RemovalPlan,
  others: readonly ImageRecord[],
): Promise<ImageDeleteItem[]> {
  const imageId = image.row.id;
  const deletedImages = plan.removeImage ? [image, ...others] : [];
  const { removed, unnamed } = journal.commit(
    (emit) => {
      for (const tag of plan.untag) {
        database.tags.remove(tag.repository, tag.tag);
        emit(imageEvent('untag', image, imageId));
      }
      for (const { repository, digest } of plan.untagDigests) {
        database.digests.remove(repository, digest);
        emit(imageEvent('untag', image, imageId));
      }
      failpoint('images.remove.commit');
      for (const record of deletedImages) {
        database.images.remove(record.row.id);
        emit(imageEvent('delete', record, record.row.id));
      }
      const lists =
        plan.untag.length + plan.untagDigests.length === 0 ? [] : database.manifestLists.removeUnnamed();
      return { removed: deletedImages.length === 0 ? [] : collector.removeRows(), unnamed: lists };
      // On disk before the files go: a power cut must not bring back an image without them.
    },
    { durable: deletedImages.length > 0 },
  );
  for (const tag of plan.untag) {
    index.removeTag(tag);
  }
  for (const digest of plan.untagDigests) {
    index.removeDigest(digest);
  }
  unnamed.forEach((list) => index.lists.remove(list));
  for (const record of deletedImages) {
    index.removeImage(record.row.id);
  }
  await collector.removeDirectories(removed);
  return [
    ...plan.untag.map((tag) => ({ Untagged: tagName(tag) })),
    ...plan.untagDigests.map((digest) => ({ Untagged: digestName(digest) })),
    ...deletedImages.map(({ row }) => ({ Deleted: row.id })),
    ...removed.map((layer) => ({ Deleted: layer.chainId })),
  ];
}
