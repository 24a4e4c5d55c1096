import {
  annotated,
  annotationMap,
  descriptorOf,
  imageIndex,
  imageManifest,
  imageTypes,
  statementDocuments,
  type OciDescriptor,
  type StatementDocuments,
} from '../../../storage/image-archives/oci-documents.ts';
import type { Descriptor } from '../../../storage/image/descriptor.ts';
import { imageStatements } from '../../../storage/image-archives/image-statements.ts';
import type { Attestation } from '../../../storage/image-archives/statement.ts';
import type {
  DocumentAnnotations,
  ListedImage,
  ManifestListRow,
} from '../../../storage/database/manifest-list-rows.ts';
import type { ImageContext } from '../context.ts';
import type { ImageRecord } from '../image-index.ts';
import { platformOf } from '../manifests.ts';
import type { PushedBlob } from '../push/layer-push.ts';

type Describing = Pick<ImageContext, 'index' | 'layers'>;

/** How an image of a list is described. */
interface Form {
  isOci: boolean;
  /** Of its manifest. */
  annotations?: DocumentAnnotations | undefined;
  /** Its layers as they lie in a registry; undefined = plain tars, as the hub of this host has them. */
  blobs?: readonly PushedBlob[];
}

/** The manifest of an image in a list, and what the index has of it. */
export function describeListed(
  context: Describing,
  image: ImageRecord,
  form: Form,
): { manifest: Buffer; descriptor: OciDescriptor } {
  const manifest = listedManifest(context, image, form);
  const descriptor = {
    ...descriptorOf(imageTypes(form.isOci).manifest, manifest),
    ...annotated(annotationMap(form.annotations?.descriptor)),
    platform: platformOf(image),
  };
  return { manifest, descriptor };
}

function listedManifest(
  { index, layers }: Describing,
  { row }: ImageRecord,
  { isOci, annotations, blobs }: Form,
): Buffer {
  const types = imageTypes(isOci);
  const tars = (): PushedBlob[] =>
    row.layerIds.map((id) => ({
      digest: index.layer(id).diffId,
      sizeBytes: layers.tarBytes(id),
      isTar: true,
    }));
  return imageManifest({
    types,
    config: { mediaType: types.config, digest: row.id, size: row.config.length },
    layers: (blobs ?? tars()).map(({ digest, sizeBytes, isTar }) => ({
      mediaType: isTar ? types.uncompressed : types.gzip,
      digest,
      size: sizeBytes,
    })),
    annotations: annotationMap(annotations?.own),
  });
}

/** What is said of an image whose manifest has a digest, under these names; undefined = nothing is. */
export function statementsAbout(
  image: ImageRecord,
  attestations: readonly Attestation[],
  { names, digest, isOci }: { names: readonly string[]; digest: string; isOci: boolean },
): StatementDocuments | undefined {
  if (attestations.length === 0) {
    return undefined;
  }
  const { os, architecture, variant } = image.config;
  const platform = { os, architecture, ...(variant !== '' && { variant }) };
  return statementDocuments(
    imageTypes(isOci),
    imageStatements({ attestations, platform }, { names, digest }),
    digest,
  );
}

/** The same as it stands in a list that is stored. */
export function statementsDescriptor(
  { statements }: ListedImage,
  about: string,
  isOci: boolean,
): OciDescriptor | undefined {
  return (
    statements && {
      mediaType: imageTypes(isOci).manifest,
      digest: statements.digest,
      size: statements.sizeBytes,
      annotations: {
        'vnd.docker.reference.digest': about,
        'vnd.docker.reference.type': 'attestation-manifest',
      },
      platform: { architecture: 'unknown', os: 'unknown' },
    }
  );
}

/** An image of a list, as its index has it: made here, or as a registry told it. */
export function shownDescriptorOf(
  context: Describing,
  list: ManifestListRow,
  listed: ListedImage,
): OciDescriptor {
  const told = list.index?.manifests.find(({ digest }) => digest === listed.manifest);
  return told === undefined
    ? describeListed(context, context.index.find(listed.imageId), { ...listed, isOci: list.isOci }).descriptor
    : toldDescriptor(told);
}

/** As a registry told it. Pure. */
export function toldDescriptor({
  mediaType,
  digest,
  size,
  annotations,
  platform,
}: Descriptor): OciDescriptor {
  return {
    mediaType,
    digest,
    size,
    ...annotated(annotationMap(annotations)),
    ...(platform && { platform }),
  };
}

/** What a list is called; of one that is an image alone the manifest's descriptor. */
export function listDescriptor(context: Describing, list: ManifestListRow): OciDescriptor {
  const { id: digest, sizeBytes: size, isOci, annotations, images, index } = list;
  const [only] = images;
  if (index !== undefined) {
    return { mediaType: index.mediaType, digest, size };
  }
  return list.isAlone && only !== undefined
    ? describeListed(context, context.index.find(only.imageId), { ...only, isOci }).descriptor
    : {
        mediaType: imageTypes(isOci).index,
        digest,
        size,
        ...annotated(annotationMap(annotations?.descriptor)),
      };
}

/** The list that these images make; `imageId` is the one that its names mean where no platform is asked for. */
export function manifestList(
  context: Describing,
  row: Omit<ManifestListRow, 'id' | 'sizeBytes'>,
): ManifestListRow {
  const { images, isOci, annotations } = row;
  const manifests = images.map((listed) => {
    const image = context.index.find(listed.imageId);
    const { descriptor } = describeListed(context, image, { ...listed, isOci });
    return { descriptor, statements: statementsDescriptor(listed, descriptor.digest, isOci) };
  });
  const [first] = manifests;
  if (row.isAlone && first !== undefined) {
    return { ...row, id: first.descriptor.digest, sizeBytes: first.descriptor.size };
  }
  const all = [
    ...manifests.map(({ descriptor }) => descriptor),
    ...manifests.flatMap(({ statements }) => statements ?? []),
  ];
  const types = imageTypes(isOci);
  const document = imageIndex(types, all, annotationMap(annotations?.own));
  const { digest: id } = descriptorOf(types.index, document);
  return { ...row, id, sizeBytes: document.length };
}
