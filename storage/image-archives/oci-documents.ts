import { createHash } from 'node:crypto';

/** How the tar of a layer is packed. */
export type LayerCompression = 'gzip' | 'uncompressed' | 'zstd';

export interface OciDescriptor {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
  platform?: { os: string; architecture: string; variant?: string };
}

export type ImageTypes = Readonly<Record<'index' | 'manifest' | 'config' | LayerCompression, string>>;

const OCI: ImageTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  gzip: 'application/vnd.oci.image.layer.v1.tar+gzip',
  zstd: 'application/vnd.oci.image.layer.v1.tar+zstd',
  uncompressed: 'application/vnd.oci.image.layer.v1.tar',
};
const DOCKER: ImageTypes = {
  index: 'application/vnd.docker.distribution.manifest.list.v2+json',
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  gzip: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
  zstd: 'application/vnd.docker.image.rootfs.diff.tar.zstd',
  uncompressed: 'application/vnd.docker.image.rootfs.diff.tar',
};

/** Media types of the OCI image specification, or those of Docker. Pure. */
export function imageTypes(isOci: boolean): ImageTypes {
  return isOci ? OCI : DOCKER;
}

/** The manifest of an image, its layers bottom first; one that it has twice is there twice. Pure. */
export function imageManifest({
  types,
  config,
  layers,
  annotations,
}: {
  types: Pick<ImageTypes, 'manifest'>;
  config: OciDescriptor;
  layers: readonly OciDescriptor[];
  annotations: ReadonlyMap<string, string>;
}): Buffer {
  const plain = ({ mediaType, digest, size }: OciDescriptor): OciDescriptor => ({ mediaType, digest, size });
  return document({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: plain(config),
    layers: layers.map((layer) => plain(layer)),
    ...annotated(annotations),
  });
}

/** A statement about an image, as it lies beside it. */
export interface StatementBlob {
  mediaType: string;
  bytes: Buffer;
  /** Of what it says. */
  annotations: Record<string, string>;
}

/** What says something of an image: blobs, then the manifest of them. */
export interface StatementDocuments {
  blobs: readonly { descriptor: OciDescriptor; bytes: Buffer }[];
  manifest: Buffer;
  /** As the index of the image names it. */
  descriptor: OciDescriptor;
}

/**
 * Statements about the image of this manifest, in the form in which an index holds them beside it
 * (https://docs.docker.com/build/metadata/attestations/attestation-storage). Pure.
 */
export function statementDocuments(
  types: Pick<ImageTypes, 'manifest' | 'config'>,
  statements: readonly StatementBlob[],
  about: string,
): StatementDocuments {
  const layers = statements.map(({ mediaType, bytes, annotations }) => ({
    descriptor: { ...descriptorOf(mediaType, bytes), annotations },
    bytes,
  }));
  const rootfs = { type: 'layers', diff_ids: layers.map(({ descriptor }) => descriptor.digest) };
  const config = document({ architecture: 'unknown', os: 'unknown', config: {}, rootfs });
  const own = descriptorOf(types.config, config);
  const manifest = document({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: own,
    layers: layers.map(({ descriptor }) => descriptor),
  });
  return {
    blobs: [...layers, { descriptor: own, bytes: config }],
    manifest,
    descriptor: {
      ...descriptorOf(types.manifest, manifest),
      annotations: {
        'vnd.docker.reference.digest': about,
        'vnd.docker.reference.type': 'attestation-manifest',
      },
      platform: { architecture: 'unknown', os: 'unknown' },
    },
  };
}

/** The index of images for several platforms. Pure. */
export function imageIndex(
  types: Pick<ImageTypes, 'index'>,
  manifests: readonly OciDescriptor[],
  annotations: ReadonlyMap<string, string>,
): Buffer {
  return document({ schemaVersion: 2, mediaType: types.index, manifests, ...annotated(annotations) });
}

/** Pure. */
export function descriptorOf(mediaType: string, bytes: Buffer): OciDescriptor {
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return { mediaType, digest, size: bytes.length };
}

/** A property that is only there where there are any. Pure. */
export function annotated(annotations: ReadonlyMap<string, string>): {
  annotations?: Record<string, string>;
} {
  return annotations.size === 0 ? {} : { annotations: Object.fromEntries(annotations) };
}

/** Those of a row; undefined = none. Pure. */
export function annotationMap(
  annotations: Readonly<Record<string, string>> | undefined,
): ReadonlyMap<string, string> {
  return new Map(Object.entries(annotations ?? {}));
}

function document(content: object): Buffer {
  return Buffer.from(JSON.stringify(content));
}
