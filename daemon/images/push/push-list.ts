import { createHash } from 'node:crypto';
import type { ProgressMessage } from '../../../api/types/image.ts';
import type { ManifestListRow } from '../../../storage/database/rows.ts';
import { imageIndex, imageTypes, type OciDescriptor } from '../../../storage/image-archives/oci-documents.ts';
import { hasBlob, putManifest, uploadBlob } from '../../../storage/registry/push-repository.ts';
import type { ImageRecord } from '../image-index.ts';
import { attestationsIn } from '../lists/attestations.ts';
import { listedDescriptor, listedManifest, statementsAbout } from '../lists/describe.ts';
import { LayerPush, type PushedBlob } from './layer-push.ts';
import { pushProgress } from './push-progress.ts';
import { commitPushed, pushConfig, type OnePush, type PushContext } from './pushed.ts';
import { blobOf, Uploads } from './uploads.ts';

/**
 * Gives all images of a list to a registry under a name: their layers, then what says what they are, then the index,
 * so that a push that is cut off leaves the name as it was.
 */
export async function* pushList(
  context: PushContext,
  push: OnePush,
  list: ManifestListRow,
): AsyncGenerator<ProgressMessage> {
  const { index, pins, slots } = context;
  const { row, repository, signal } = push;
  await using _collect = { [Symbol.asyncDispose]: () => context.collector.collect() };
  const images = list.images.map(({ imageId }) => index.findWhole(imageId));
  const layers = images.flatMap((image) => image.row.layerIds.map((id) => index.layer(id)));
  using _pin = pins.pin(layers.map(({ id }) => id));
  const unique = [...new Map(layers.map((layer) => [layer.diffId, layer])).values()];
  const pushes = unique.map((layer) => new LayerPush(context, layer, push)).toReversed();
  // Asked first: a client that may not push is refused before gigabytes are compressed.
  const hasConfig = await hasBlob(repository, push.image.row.id, signal);
  await using uploads = new Uploads(pushes, slots, signal);
  yield* pushProgress(pushes, uploads.result);
  const blobs = await uploads.result;
  const manifests: OciDescriptor[] = [];
  const said: OciDescriptor[] = [];
  for (const image of images) {
    const isThere = image.row.id === push.image.row.id && hasConfig;
    const put = await putImage(context, push, { image, list, blobs, isThere });
    manifests.push(put.descriptor);
    said.push(...put.statements);
  }
  const types = imageTypes(list.isOci);
  const bytes = imageIndex(types, [...manifests, ...said], new Map());
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const occurrence = await putManifest(repository, row.tag, { bytes, mediaType: types.index }, signal);
  commitPushed(context, push, { digest, blobs, layers, occurrence });
  yield { status: `${row.tag}: digest: ${digest} size: ${bytes.length}` };
  yield { progressDetail: {}, aux: { Tag: row.tag, Digest: digest, Size: bytes.length } };
}

/** One of its images, by its digest. Answers what the index has of it and of what is said of it. */
async function putImage(
  context: PushContext,
  push: OnePush,
  {
    image,
    list,
    blobs,
    isThere,
  }: {
    image: ImageRecord;
    list: ManifestListRow;
    blobs: ReadonlyMap<string, PushedBlob>;
    isThere: boolean;
  },
): Promise<{ descriptor: OciDescriptor; statements: OciDescriptor[] }> {
  const { repository, signal } = push;
  const { isOci } = list;
  const types = imageTypes(isOci);
  await pushConfig(push, image, isThere);
  const bytes = listedManifest(context, image, {
    isOci,
    blobs: image.row.layerIds.map((id) => blobOf(blobs, context.index.layer(id))),
  });
  const descriptor = listedDescriptor(image, bytes, isOci);
  await putManifest(repository, descriptor.digest, { bytes, mediaType: types.manifest }, signal);
  const statements = statementsAbout(image, attestationsIn(context, list.id, image.row.id), {
    names: list.names,
    digest: descriptor.digest,
    isOci,
  });
  for (const blob of statements?.blobs ?? []) {
    const { digest, size } = blob.descriptor;
    const source = { digest, size, read: (from: number) => blob.bytes.subarray(from) };
    await uploadBlob(repository, source, { signal });
  }
  if (statements !== undefined) {
    const { digest } = statements.descriptor;
    await putManifest(repository, digest, { bytes: statements.manifest, mediaType: types.manifest }, signal);
  }
  return { descriptor, statements: statements === undefined ? [] : [statements.descriptor] };
}
