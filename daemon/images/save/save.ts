import { Readable } from 'node:stream';
import type { ImagePlatform } from '../../../api/types/image.ts';
import type { ImageContext } from '../context.ts';
import { imageEvent } from '../events.ts';
import { chooseImages, type Chosen } from './chosen.ts';
import { layoutOf } from './layout.ts';

/**
 * The tarball of `docker save`. Nothing of what is in it is removed before the stream is closed.
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
  const stream = layoutOf(context, chosen, onEnd);
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
