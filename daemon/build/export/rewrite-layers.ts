import { Readable } from 'node:stream';
import { asObject, parseJson } from '../../../storage/image/json.ts';
import { ClampedTimes } from '../../../storage/tar/clamped-times.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Vertices } from '../control/vertices.ts';
import { release } from '../solver/ports.ts';
import type { ExportedImage } from './exported-image.ts';
import type { ExportDeps } from './ports.ts';

interface RewriteTo {
  vertices: Vertices;
  signal: AbortSignal;
}

/** Images whose layers are kept until it is disposed of. */
export interface RewrittenImages extends Disposable {
  images: readonly ExportedImage[];
}

/**
 * The same images with no file of their own later than the moment of the build (`rewrite-timestamp`); layers of what
 * they are based on stay as they are, and so do those of which nothing is later. Images without a moment are told.
 */
export async function rewriteLayers(
  deps: ExportDeps,
  images: readonly ExportedImage[],
  { vertices, signal }: RewriteTo,
): Promise<RewrittenImages> {
  const pins: Disposable[] = [];
  const done: ExportedImage[] = [];
  try {
    for (const image of images) {
      const { epochSeconds } = image;
      if (epochSeconds === undefined) {
        const title = 'rewrite-timestamp: nothing is rewritten, as there is no SOURCE_DATE_EPOCH';
        done.push(await vertices.run(title, () => Promise.resolve(image)));
      } else {
        const title = `rewriting layers with source-date-epoch ${epochSeconds}`;
        done.push(
          await vertices.run(title, () => rewriteImage(deps, { ...image, epochSeconds }, { pins, signal })),
        );
      }
    }
  } catch (error) {
    release(pins);
    throw error;
  }
  return { images: done, [Symbol.dispose]: () => release(pins) };
}

async function rewriteImage(
  deps: ExportDeps,
  image: ExportedImage & { epochSeconds: number },
  { pins, signal }: { pins: Disposable[]; signal: AbortSignal },
): Promise<ExportedImage> {
  const { layers } = deps;
  const { layerIds, baseLayers, config, epochSeconds } = image;
  let made: readonly number[] = layerIds.slice(0, baseLayers);
  let isChanged = false;
  for (const [position, layerId] of layerIds.entries()) {
    if (position < baseLayers) {
      continue;
    }
    const how = { compression: 'uncompressed', level: undefined, signal } as const;
    await using blob = await layers.blob(layerId, how);
    const clamped = new ClampedTimes(epochSeconds, `layer ${blob.digest}`);
    // Nobody sets an encoding: its pieces are Buffers.
    const tar = Readable.from(clamped.write(blob.read() as AsyncIterable<Buffer>), { objectMode: false });
    await using spool = await deps.spools.raw(tar, { what: 'layer', signal });
    isChanged ||= clamped.isChanged;
    if (!isChanged) {
      made = [...made, layerId];
      continue;
    }
    failpoint('build.export.rewrite');
    const changes = { fd: spool.fd, size: spool.size, isEmpty: false };
    const kept = await layers.commit(
      made,
      // The spool is disposed of here.
      { tar: { ...changes, [Symbol.asyncDispose]: () => Promise.resolve() } },
      signal,
    );
    pins.push(kept.pin);
    made = kept.layerIds;
  }
  return isChanged ? { ...image, layerIds: made, config: onLayers(config, layers.diffIds(made)) } : image;
}

/** The configuration on other layers, as many. A cache in it names them by their places, which stay. Pure. */
function onLayers(config: Buffer, diffIds: readonly string[]): Buffer {
  const all = asObject(parseJson(config, 'image'), 'image');
  const rootfs = asObject(all['rootfs'], 'image.rootfs');
  return Buffer.from(JSON.stringify({ ...all, rootfs: { ...rootfs, diff_ids: diffIds } }));
}
