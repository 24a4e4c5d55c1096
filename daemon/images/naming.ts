import { failpoint } from '../base/failpoint.ts';
import type { ImageDigestRow, TagRow } from '../../storage/database/rows.ts';
import {
  canonicalRepository,
  type Reference,
  nameable,
  parseReference,
  withDefaultTag,
  withTag,
} from '../../storage/references/reference.ts';
import { imageEvent } from './events.ts';
import { tagName } from './image-index.ts';
import type { ImageContext } from './context.ts';
import { invalidArgument } from '../base/errors.ts';

/**
 * Gives an image names, taking them from the images that had them; with `list` they mean the list that it is in. Lists
 * that no name means any more go. One transaction with its events.
 */
export function nameImage(
  { database, journal, clock, index }: Pick<ImageContext, 'database' | 'journal' | 'clock' | 'index'>,
  imageId: string,
  names: readonly Reference[],
  list?: string,
): void {
  if (names.length === 0) {
    return;
  }
  const image = index.find(imageId);
  const now = clock.nowNano();
  const tags = names.map((name): TagRow => {
    const tag = { repository: canonicalRepository(name), tag: name.tag ?? 'latest', imageId };
    return list === undefined ? tag : { ...tag, list };
  });
  const unnamed = journal.commit(
    (emit) => {
      for (const tag of tags) {
        database.tags.set(tag);
        emit(imageEvent('tag', image, tagName(tag)));
      }
      database.images.setLastTagged(imageId, now);
      failpoint('images.tag.commit');
      return database.manifestLists.removeUnnamed();
    },
    // A build whose success a client was told is found by its name after a power cut, too.
    { durable: true },
  );
  for (const tag of tags) {
    index.setTag(tag);
  }
  unnamed.forEach((id) => index.lists.remove(id));
  index.addImage({ ...image.row, lastTaggedNano: now }, image.config);
}

/** What an image is called by its digest. What is known of a registry stays so. One durable transaction. */
export function digestImage(
  { database, journal, index }: Pick<ImageContext, 'database' | 'journal' | 'index'>,
  imageId: string,
  {
    repositories,
    ...asked
  }: Omit<ImageDigestRow, 'repository' | 'imageId'> & { repositories: readonly string[] },
): void {
  const known = index.digestsOf(imageId).filter(({ digest }) => digest === asked.digest);
  const rows = [...new Set(repositories)]
    .filter((repository) => !known.some((row) => row.repository === repository && isKnown(row, asked)))
    .map((repository) => ({ repository, imageId, ...asked }));
  if (rows.length === 0) {
    return;
  }
  journal.commit(
    () => {
      rows.forEach((row) => database.digests.set(row));
      failpoint('images.digest.commit');
    },
    // As names are.
    { durable: true },
  );
  rows.forEach((row) => index.setDigest(row));
}

/** Pure. */
function isKnown(known: ImageDigestRow, asked: Pick<ImageDigestRow, 'list'>): boolean {
  return known.isOwn !== true && known.list === asked.list;
}

/**
 * The name that `repo` and `tag` parameters mean together; `tag` wins over one inside `repo`, none means `latest`.
 * Throws invalid_argument, also for a digest, which is computed and not given, and for a name like `sha256:abc`.
 */
export function parseTarget(repo: string, tag: string): Reference {
  const reference = parseReference(repo);
  if (reference.digest !== undefined) {
    throw invalidArgument('refusing to create a tag with a digest reference');
  }
  return nameable(tag === '' ? withDefaultTag(reference) : withTag(reference, tag));
}
