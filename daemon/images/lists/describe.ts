import {
  descriptorOf,
  imageIndex,
  imageManifest,
  imageTypes,
  statementDocuments,
  type OciDescriptor,
  type StatementDocuments,
} from '../../../storage/image-archives/oci-documents.ts';
import { imageStatements } from '../../../storage/image-archives/image-statements.ts';
import type { Attestation } from '../../../storage/image-archives/statement.ts';
import type { ListedImage, ManifestListRow } from '../../../storage/database/rows.ts';
import type { ImageContext } from '../context.ts';
import type { ImageRecord } from '../image-index.ts';
import { platformOf } from '../manifests.ts';
import type { PushedBlob } from '../push/layer-push.ts';

type Describing = Pick<ImageContext, 'index' | 'layers'>;

/**
 * The manifest of an image in a list. `blobs`: its layers as they lie in a registry; undefined = plain tars, as the hub
 * of this host has them.
 */
export function listedManifest(
  { index, layers }: Describing,
  { row }: ImageRecord,
  { isOci, blobs }: { isOci: boolean; blobs?: readonly PushedBlob[] },
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
    annotations: new Map(),
  });
}

/** Of such a manifest. */
export function listedDescriptor(image: ImageRecord, manifest: Buffer, isOci: boolean): OciDescriptor {
  return { ...descriptorOf(imageTypes(isOci).manifest, manifest), platform: platformOf(image) };
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

/** The list that these images make; `imageId` is the one that its names mean where no platform is asked for. */
export function manifestList(
  context: Describing,
  { images, imageId, isOci, names }: Omit<ManifestListRow, 'id' | 'sizeBytes'>,
): ManifestListRow {
  const manifests = images.map((listed) => {
    const image = context.index.find(listed.imageId);
    const descriptor = listedDescriptor(image, listedManifest(context, image, { isOci }), isOci);
    return { descriptor, statements: statementsDescriptor(listed, descriptor.digest, isOci) };
  });
  const all = [
    ...manifests.map(({ descriptor }) => descriptor),
    ...manifests.flatMap(({ statements }) => statements ?? []),
  ];
  const types = imageTypes(isOci);
  const document = imageIndex(types, all, new Map());
  const { digest: id } = descriptorOf(types.index, document);
  return { id, imageId, sizeBytes: document.length, isOci, names, images };
}
