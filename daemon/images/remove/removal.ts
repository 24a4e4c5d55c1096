import type { ImageDeleteItem } from '../../../api/types/image.ts';
import { failpoint } from '../../base/failpoint.ts';
import { imageEvent } from '../events.ts';
import { digestName, isFullDigest, tagName, type ImageRecord } from '../image-index.ts';
import type { ImageContext } from '../context.ts';
import { decideRemoval, type RemovalPlan } from './remove.ts';

/**
 * Removes a name of an image, or the image: with its layers, and unless `noprune` with the unnamed images that it was
 * made from and nothing else needs. Throws conflict with dockerd's texts.
 */
export async function removeImage(
  context: ImageContext,
  ref: string,
  options: { force: boolean; noprune: boolean },
): Promise<ImageDeleteItem[]> {
  const { index } = context;
  const image = index.find(ref);
  const imageId = image.row.id;
  const plan = decideRemoval({
    imageId,
    asked: isFullDigest(ref) ? imageId : ref,
    tags: index.tagsOf(imageId),
    digests: index.digestsOf(imageId),
    users: context.users(imageId),
    hasChildren: index.isParent(imageId),
    force: options.force,
  });
  const parents = plan.removeImage && !options.noprune ? uselessParents(context, image) : [];
  return await carryOut(context, image, plan, parents);
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
  parents: readonly ImageRecord[],
): Promise<ImageDeleteItem[]> {
  const imageId = image.row.id;
  const deletedImages = plan.removeImage ? [image, ...parents] : [];
  const removed = journal.commit(
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
      return deletedImages.length === 0 ? [] : collector.removeRows();
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
