import { Readable } from 'node:stream';
import type { ImagePlatform } from '../../../api/types/image.ts';
import { saveImages, type SavedImage } from '../../../storage/image-archives/save.ts';
import { familiarRepository } from '../../../storage/references/reference.ts';
import type { ImageContext } from '../context.ts';
import { imageEvent } from '../events.ts';
import { chooseImages, type Chosen } from './chosen.ts';
import { layoutOf } from './layout.ts';

/**
 * The tarball of `docker save`: in the format of API 1.24, or as an OCI layout where a name means several images or
 * something is said of one, which has no place in the other. Nothing of it is removed before the stream is closed.
 */
export function savedTar(
  context: ImageContext,
  refs: readonly string[],
  options: { platforms?: readonly ImagePlatform[]; signal: AbortSignal },
): Readable {
  const { index, pins, collector, log } = context;
  const chosen = chooseImages(index, refs, options.platforms ?? []);
  const images = chosen.flatMap((each) => each.images);
  const pin = pins.pin(images.flatMap(({ row }) => row.layerIds));
  const onEnd = (): void => tellSaved(context, chosen);
  const stream = chosen.every(({ list }) => list === undefined)
    ? saveImages(
        chosen.map((each) => savedImage(context, each)),
        onEnd,
      )
    : layoutOf(context, chosen, onEnd);
  const abort = (): void => {
    stream.destroy();
  };
  options.signal.addEventListener('abort', abort, { once: true });
  stream.once('close', () => {
    options.signal.removeEventListener('abort', abort);
    pin[Symbol.dispose]();
    collector.collect().catch((error: unknown) => {
      log.error({ err: error }, 'layers of a removed image not collected after save');
    });
  });
  return stream;
}

function tellSaved({ journal }: ImageContext, chosen: readonly Chosen[]): void {
  journal.commit((emit) => {
    for (const { meant } of chosen) {
      emit(imageEvent('save', meant, meant.row.id));
    }
  });
}

function savedImage({ index, layers }: ImageContext, { meant, tags }: Chosen): SavedImage {
  const { row, config } = meant;
  return {
    id: row.id,
    configBytes: row.config,
    config,
    names: tags.map(({ repository, tag }) => ({ repository: familiarRepository(repository), tag })),
    parentId: index.parentOf(row.id)?.row.id,
    layers: row.layerIds.map((layerId) => {
      const { id, diffId, chainId } = index.layer(layerId);
      return { diffId, chainId, tarBytes: layers.tarBytes(id), read: () => layers.read(id, diffId) };
    }),
  };
}
