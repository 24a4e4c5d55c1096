import { createHash } from 'node:crypto';
import type { ProgressMessage } from '../../../api/types/image.ts';
import type { ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';
import type { OciDescriptor } from '../../../storage/image-archives/oci-documents.ts';
import { hasBlob, putManifest } from '../../../storage/registry/push-repository.ts';
import { sameManifest } from '../lists/originals.ts';
import { LayerPush } from './layer-push.ts';
import { MANIFEST_TYPE, manifestBytes } from './manifest-bytes.ts';
import { pushProgress } from './push-progress.ts';
import { commitPushed, pushConfig, type OnePush, type PushContext } from './pushed.ts';
import { blobOf, Uploads } from './uploads.ts';

/**
 * Gives one image to a registry under a name, with the manifest that dockerd writes, or where it came from a registry's
 * index, and its layers are there as they were, with that one. Answers what the name means there now.
 */
export async function* pushImage(
  context: PushContext,
  push: OnePush,
  list?: ManifestListRow,
): AsyncGenerator<ProgressMessage, OciDescriptor> {
  const { index, pins, slots } = context;
  const { image, row, repository } = push;
  // Layers of an image that is removed meanwhile go when nothing here needs them any more.
  await using _collect = { [Symbol.asyncDispose]: () => context.collector.collect() };
  const layers = image.row.layerIds.map((id) => index.layer(id));
  using _pin = pins.pin(image.row.layerIds);
  // The same tar more than once in an image is one blob.
  const unique = [...new Map(layers.map((layer) => [layer.diffId, layer])).values()];
  const pushes = unique.map((layer) => new LayerPush(context, layer, push)).toReversed();
  // Asked first: a client that may not push is refused before gigabytes are compressed.
  const hasConfig = await hasBlob(repository, image.row.id, push.signal);
  await using uploads = new Uploads(pushes, slots, push.signal);
  yield* pushProgress(pushes, uploads.result);
  const blobs = await uploads.result;
  const config = await pushConfig(push, image, hasConfig);
  const put = layers.map((layer) => blobOf(blobs, layer));
  const listed = list?.images.find(({ imageId }) => imageId === image.row.id);
  const same = sameManifest(context, list, { manifest: listed?.manifest, layers: put });
  const bytes = same?.bytes ?? manifestBytes(config, put);
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const manifest = { bytes, mediaType: same?.descriptor.mediaType ?? MANIFEST_TYPE };
  const occurrence = await putManifest(repository, row.tag, manifest, push.signal);
  commitPushed(context, push, { digest, blobs, layers, occurrence });
  yield { status: `${row.tag}: digest: ${digest} size: ${bytes.length}` };
  yield { progressDetail: {}, aux: { Tag: row.tag, Digest: digest, Size: bytes.length } };
  return { mediaType: manifest.mediaType, digest, size: bytes.length };
}
