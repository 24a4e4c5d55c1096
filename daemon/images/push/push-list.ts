import { createHash } from 'node:crypto';
import type { ProgressMessage } from '../../../api/types/image.ts';
import type { ListedImage, ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';
import {
  annotationMap,
  imageIndex,
  imageTypes,
  type OciDescriptor,
  type StatementDocuments,
} from '../../../storage/image-archives/oci-documents.ts';
import type { Attestation } from '../../../storage/image-archives/statement.ts';
import { hasBlob, putManifest, uploadBlob } from '../../../storage/registry/push-repository.ts';
import type { ImageRecord } from '../image-index.ts';
import { attestationsIn } from '../lists/attestations.ts';
import { describeListed, statementsAbout, toldDescriptor } from '../lists/describe.ts';
import {
  ofLayers,
  originalManifest,
  originalStatements,
  type OriginalStatements,
} from '../lists/originals.ts';
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
  // Read before anything is sent: the list may be removed meanwhile.
  const images = list.images.map((listed) => keptOf(context, list, listed));
  const told = context.database.manifestLists.document(list.id, list.id);
  const layers = images.flatMap(({ image }) => image.row.layerIds.map((id) => index.layer(id)));
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
  let root: Document | undefined;
  let isSame = list.index !== undefined;
  for (const each of images) {
    const isThere = each.image.row.id === push.image.row.id && hasConfig;
    const put = await putImage(context, push, { ...each, list, blobs, isThere });
    manifests.push(put.descriptor);
    said.push(...put.statements);
    root = put.manifest;
    isSame &&= put.isSame;
  }
  const types = imageTypes(list.isOci);
  if (isSame && told !== undefined && list.index !== undefined) {
    root = { bytes: told, mediaType: list.index.mediaType };
  } else if (!list.isAlone || root === undefined) {
    const annotations = annotationMap(list.annotations?.own);
    root = { bytes: imageIndex(types, [...manifests, ...said], annotations), mediaType: types.index };
  }
  const { bytes } = root;
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const occurrence = await putManifest(repository, row.tag, root, signal);
  commitPushed(context, push, { digest, blobs, layers, list: list.id, occurrence });
  yield { status: `${row.tag}: digest: ${digest} size: ${bytes.length}` };
  yield { progressDetail: {}, aux: { Tag: row.tag, Digest: digest, Size: bytes.length } };
}

interface Document {
  bytes: Buffer;
  mediaType: string;
}

interface PutImage {
  manifest: Document;
  descriptor: OciDescriptor;
  statements: OciDescriptor[];
  /** All of it is what a registry told. */
  isSame: boolean;
}

/** An image of a list, with all that is stored of it. */
interface KeptImage {
  listed: ListedImage;
  image: ImageRecord;
  attestations: readonly Attestation[];
  /** As a registry has them. */
  original: ReturnType<typeof originalManifest>;
  statements: OriginalStatements | undefined;
}

function keptOf(context: PushContext, list: ManifestListRow, listed: ListedImage): KeptImage {
  return {
    listed,
    image: context.index.findWhole(listed.imageId),
    attestations: attestationsIn(context, list, listed.imageId),
    original: originalManifest(context, list, listed.manifest),
    statements: originalStatements(context, list, listed),
  };
}

/** One of its images, by its digest. Answers what the index has of it and of what is said of it. */
async function putImage(
  context: PushContext,
  push: OnePush,
  {
    listed,
    image,
    attestations,
    original,
    statements,
    list,
    blobs,
    isThere,
  }: KeptImage & { list: ManifestListRow; blobs: ReadonlyMap<string, PushedBlob>; isThere: boolean },
): Promise<PutImage> {
  const { repository, signal } = push;
  const { isOci } = list;
  await pushConfig(push, image, isThere);
  const layers = image.row.layerIds.map((id) => blobOf(blobs, context.index.layer(id)));
  const same = ofLayers(original, layers);
  const { manifest: bytes, descriptor } =
    same === undefined
      ? describeListed(context, image, { ...listed, isOci, blobs: layers })
      : { manifest: same.bytes, descriptor: toldDescriptor(same.descriptor) };
  const manifest = { bytes, mediaType: descriptor.mediaType };
  if (!list.isAlone) {
    await putManifest(repository, descriptor.digest, manifest, signal);
  }
  const documents =
    same === undefined
      ? statementsAbout(image, attestations, { names: list.names, digest: descriptor.digest, isOci })
      : toldDocuments(statements);
  for (const blob of documents?.blobs ?? []) {
    const { digest, size } = blob.descriptor;
    const source = { digest, size, read: (from: number) => blob.bytes.subarray(from) };
    await uploadBlob(repository, source, { signal });
  }
  if (documents !== undefined) {
    const { digest, mediaType } = documents.descriptor;
    await putManifest(repository, digest, { bytes: documents.manifest, mediaType }, signal);
  }
  const said = documents === undefined ? [] : [documents.descriptor];
  return { manifest, descriptor, statements: said, isSame: same !== undefined };
}

function toldDocuments(told: OriginalStatements | undefined): StatementDocuments | undefined {
  return (
    told && {
      blobs: told.blobs.flatMap(({ descriptor, bytes }) =>
        bytes === undefined ? [] : { descriptor: toldDescriptor(descriptor), bytes },
      ),
      manifest: told.bytes,
      descriptor: toldDescriptor(told.descriptor),
    }
  );
}
