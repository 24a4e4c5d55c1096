import type { ImageDeleteItem, ImagePlatform } from '../../../api/types/image.ts';
import type { ListedImage, ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';
import type { ImageDigestRow, TagRow } from '../../../storage/database/rows.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { ImageContext } from '../context.ts';
import type { ImageRecord } from '../image-index.ts';
import { imageFor } from '../platform-asked.ts';
import { refuseUsed } from '../remove/remove.ts';
import { removeImage } from '../remove/removal.ts';
import { manifestList } from './describe.ts';

interface Removal {
  force: boolean;
  noprune: boolean;
}

/**
 * Removes the images for some platforms from under a name; with the last of them the name goes, as by `removeImage`.
 * Throws not_found for a platform that the name has no image for, conflict where a container needs one.
 */
export async function removePlatforms(
  context: ImageContext,
  ref: string,
  { platforms, ...options }: Removal & { platforms: readonly ImagePlatform[] },
): Promise<ImageDeleteItem[]> {
  const { index } = context;
  const leaving = platforms.map((platform) => imageFor(index, ref, platform));
  const list = index.listNamed(ref);
  const rest = list?.images.filter(({ imageId }) => !leaving.some(({ row }) => row.id === imageId)) ?? [];
  const [first] = rest;
  if (list === undefined || first === undefined) {
    return await removeImage(context, ref, options);
  }
  leaving.forEach(({ row }) => refuseUsed(row.id, { users: context.users(row.id), force: options.force }));
  const meant = rest.find(({ imageId }) => imageId === list.imageId) ?? first;
  replaceList(context, list, { images: rest, imageId: meant.imageId });
  const deleted: ImageDeleteItem[] = [];
  for (const image of new Set(leaving.filter((each) => !isNeeded(context, each)))) {
    deleted.push(...(await removeImage(context, image.row.id, options)));
  }
  return deleted;
}

function isNeeded({ index }: ImageContext, { row: { id } }: ImageRecord): boolean {
  const names = index.tagsOf(id).length + index.digestsOf(id).length;
  return names > 0 || index.isParent(id) || index.lists.having(id).length > 0;
}

/** One image of which nothing is said, nor of its list, needs none. One durable transaction. */
function replaceList(
  context: ImageContext,
  old: ManifestListRow,
  { images, imageId }: { images: ListedImage[]; imageId: string },
): void {
  const { database, journal, index } = context;
  if (old.index !== undefined) {
    leaveIndex(context, old, { ...old, images, imageId });
    return;
  }
  const isPlain =
    images.length === 1 &&
    old.annotations === undefined &&
    images.every(({ statements, annotations }) => (statements ?? annotations) === undefined);
  const next = isPlain ? undefined : manifestList(context, { ...old, images, imageId });
  const said = images.map((each) => database.manifestLists.attestations(old.id, each.imageId) ?? null);
  const tags = index
    .tagsOf(old.imageId)
    .filter(({ list }) => list === old.id)
    .map(({ repository, tag }): TagRow => {
      const row = { repository, tag, imageId };
      return next === undefined ? row : { ...row, list: next.id };
    });
  // Its own digest names nothing any more; those of registries are of what is left.
  const digests = index.digestsOf(old.imageId).filter(({ digest }) => digest === old.id);
  const pushed = index
    .digestsOf(old.imageId)
    .filter(({ digest, list }) => digest !== old.id && list === old.id)
    .map(({ repository, digest, isOwn }): ImageDigestRow => ({
      repository,
      digest,
      imageId,
      ...(isOwn && { isOwn }),
      ...(next !== undefined && { list: next.id }),
    }));
  journal.commit(
    () => {
      if (next !== undefined) {
        database.manifestLists.insert(next, said);
      }
      tags.forEach((tag) => database.tags.set(tag));
      digests.forEach(({ repository, digest }) => database.digests.remove(repository, digest));
      pushed.forEach((row) => database.digests.set(row));
      failpoint('images.list.replace');
      database.manifestLists.remove(old.id);
    },
    { durable: true },
  );
  index.lists.remove(old.id);
  if (next !== undefined) {
    index.lists.add(next);
  }
  tags.forEach((tag) => index.setTag(tag));
  digests.forEach((row) => index.removeDigest(row));
  pushed.forEach((row) => index.setDigest(row));
}

/** A registry's index stays what it is: there is less of it here. One durable transaction. */
function leaveIndex(
  { database, journal, index }: ImageContext,
  old: ManifestListRow,
  next: ManifestListRow,
): void {
  const { id, imageId } = next;
  const left = old.images.filter((listed) => !next.images.includes(listed));
  const tags = index.tagsOf(old.imageId).filter(({ list }) => list === id);
  const digests = index.digestsOf(old.imageId).filter(({ list }) => list === id);
  const moved = {
    tags: tags.map((row) => ({ ...row, imageId })),
    digests: digests.map((row) => ({ ...row, imageId })),
  };
  journal.commit(
    () => {
      left.forEach((listed) => database.manifestLists.leave(next, listed.imageId));
      moved.tags.forEach((row) => database.tags.set(row));
      moved.digests.forEach((row) => database.digests.set(row));
      failpoint('images.list.leave');
    },
    { durable: true },
  );
  index.lists.replace(next);
  moved.tags.forEach((row) => index.setTag(row));
  moved.digests.forEach((row) => index.setDigest(row));
}
