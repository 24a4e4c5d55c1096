import type { ListedImage, ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';
import { readStatement } from '../../../storage/image-archives/read-statement.ts';
import { STATEMENT_MEDIA_TYPE, type Attestation } from '../../../storage/image-archives/statement.ts';
import { readLayers, readManifest, type Descriptor } from '../../../storage/image/descriptor.ts';
import { asObject, parseJson, type JsonObject } from '../../../storage/image/json.ts';
import type { ImageContext } from '../context.ts';

type Kept = Pick<ImageContext, 'database'>;

/** A manifest as a registry has it. */
export interface OriginalManifest {
  bytes: Buffer;
  descriptor: Descriptor;
}

/** What is said of an image as a registry has it. */
export interface OriginalStatements extends OriginalManifest {
  /** All that its manifest names, configuration last; undefined bytes = it did not come with the image. */
  blobs: readonly { descriptor: Descriptor; bytes: Buffer | undefined }[];
}

/** With its layers. Undefined: the list was made here. */
export function originalManifest(
  context: Kept,
  list: ManifestListRow,
  digest: string | undefined,
): (OriginalManifest & { layers: readonly Descriptor[] }) | undefined {
  const found = original(context, list, digest);
  return found && { ...found, layers: readManifest(documentOf(found), found.descriptor.digest).layers };
}

/** Undefined: the list was made here, or nothing is said of the image. */
export function originalStatements(
  context: Kept,
  list: ManifestListRow,
  { statements }: ListedImage,
): OriginalStatements | undefined {
  const found = original(context, list, statements?.digest);
  if (found === undefined) {
    return undefined;
  }
  const { digest } = found.descriptor;
  const document = documentOf(found);
  const all = [...readLayers(document, digest), ...readLayers({ layers: [document['config']] }, digest)];
  const blobs = all.map((descriptor) => ({
    descriptor,
    bytes: context.database.manifestLists.document(list.id, descriptor.digest),
  }));
  return { ...found, blobs };
}

/** The same to be given on, about the image as it will be. */
export function originalAttestations(
  context: Kept,
  list: ManifestListRow,
  listed: ListedImage,
): Attestation[] {
  const { blobs = [] } = originalStatements(context, list, listed) ?? {};
  return blobs.flatMap(({ descriptor, bytes }) =>
    bytes === undefined || descriptor.mediaType !== STATEMENT_MEDIA_TYPE
      ? []
      : readStatement(bytes, descriptor, listed.manifest ?? ''),
  );
}

/** The manifest of an image whose layers are what they were there; undefined = they are not, or it was made here. */
export function sameManifest(
  context: Kept,
  list: ManifestListRow | undefined,
  { manifest, layers }: { manifest: string | undefined; layers: readonly { digest: string }[] },
): OriginalManifest | undefined {
  return list && ofLayers(originalManifest(context, list, manifest), layers);
}

/** One whose layers are these; undefined = they are not. Pure. */
export function ofLayers(
  found: ReturnType<typeof originalManifest>,
  layers: readonly { digest: string }[],
): OriginalManifest | undefined {
  const isSame =
    found?.layers.length === layers.length &&
    found.layers.every(({ digest }, position) => digest === layers[position]?.digest);
  return isSame ? found : undefined;
}

/** All that a registry's index names is here, to the last byte but those of layers. */
export function isWhole(context: Kept, list: ManifestListRow): boolean {
  const { images, index } = list;
  const here = new Set(images.flatMap(({ manifest, statements }) => [manifest, statements?.digest]));
  return (
    (index?.manifests ?? []).every(({ digest }) => here.has(digest)) &&
    images.every((listed) =>
      (originalStatements(context, list, listed)?.blobs ?? []).every(({ bytes }) => bytes !== undefined),
    )
  );
}

function original(
  { database }: Kept,
  { id, index }: ManifestListRow,
  digest: string | undefined,
): OriginalManifest | undefined {
  const descriptor = index?.manifests.find((each) => each.digest === digest);
  const bytes = descriptor && database.manifestLists.document(id, descriptor.digest);
  return descriptor && bytes && { bytes, descriptor };
}

function documentOf({ bytes, descriptor: { digest } }: OriginalManifest): JsonObject {
  return asObject(parseJson(bytes, digest), digest);
}
