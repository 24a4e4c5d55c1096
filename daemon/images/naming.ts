import { failpoint } from '../base/failpoint.ts';
import type { TagRow } from '../../storage/database/rows.ts';
import { canonicalRepository, type Reference } from '../../storage/references/reference.ts';
import { imageEvent } from './events.ts';
import { tagName } from './image-index.ts';
import type { ImageContext } from './context.ts';

/** Gives an image names, taking them from the images that had them. One transaction with its events. */
export function nameImage(
  { deps, index }: Pick<ImageContext, 'deps' | 'index'>,
  imageId: string,
  names: readonly Reference[],
): void {
  if (names.length === 0) {
    return;
  }
  const { database, journal, clock } = deps;
  const image = index.find(imageId);
  const now = clock.nowNano();
  const tags = names.map((name): TagRow => {
    return { repository: canonicalRepository(name), tag: name.tag ?? 'latest', imageId };
  });
  journal.commit(
    (emit) => {
      for (const tag of tags) {
        database.tags.set(tag);
        emit(imageEvent('tag', image, tagName(tag)));
      }
      database.images.setLastTagged(imageId, now);
      failpoint('images.tag.commit');
    },
    // A build that was told to have gone well is found by its name after a power cut, too.
    { durable: true },
  );
  for (const tag of tags) {
    index.setTag(tag);
  }
  index.addImage({ ...image.row, lastTaggedNano: now }, image.config);
}
