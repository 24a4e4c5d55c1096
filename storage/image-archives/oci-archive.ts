import { createHash } from 'node:crypto';
import { padding, TAR_END } from '../tar/encode.ts';
import { writeHeader } from './tar-writer.ts';

/** A layer's bytes as they are in an archive. */
export interface OciBlob extends AsyncDisposable {
  /** sha256:... */
  digest: string;
  bytes: number;
  read(): AsyncIterable<Buffer>;
}

/** An image to be written. Layers bottom first; each is opened when its turn comes, and disposed of. */
export interface OciImage {
  config: Buffer;
  layers: readonly { diffId: string; open(): Promise<OciBlob> }[];
  compression: 'gzip' | 'uncompressed';
  /** Media types of the OCI image specification, else those of Docker. */
  isOci: boolean;
  platform: { os: string; architecture: string; variant?: string };
  annotations: ReadonlyMap<string, string>;
}

export interface OciArchiveOptions {
  /** In full: `docker.io/library/app:latest`. */
  names: readonly string[];
  /** Of each image's descriptor in the index. */
  annotations: ReadonlyMap<string, string>;
  /** `manifest.json` as well, which `docker load` reads. */
  hasDockerManifest: boolean;
  told: (descriptor: OciDescriptor) => void;
}

export interface OciDescriptor {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
  platform?: OciImage['platform'];
}

/** Of the OCI image specification. */
export const IMAGE_TYPES = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  gzip: 'application/vnd.oci.image.layer.v1.tar+gzip',
  uncompressed: 'application/vnd.oci.image.layer.v1.tar',
};
const DOCKER = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  gzip: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
  uncompressed: 'application/vnd.docker.image.rootfs.diff.tar',
};
const BLOBS = 'blobs/sha256/';

/**
 * An image as an OCI layout in a tar (https://github.com/opencontainers/image-spec/blob/main/image-layout.md): blobs,
 * each once, then the documents. `told` is called with the manifest's descriptor before these. Same image, same bytes.
 */
export async function* ociArchive(
  image: OciImage,
  { names, annotations, hasDockerManifest, told }: OciArchiveOptions,
): AsyncGenerator<Buffer> {
  const types = image.isOci ? IMAGE_TYPES : DOCKER;
  yield writeHeader({ name: 'blobs/', kind: 'directory', mtime: 0 });
  yield writeHeader({ name: BLOBS, kind: 'directory', mtime: 0 });
  const layers = new Map<string, OciDescriptor>();
  const written = new Set<string>();
  for (const layer of image.layers) {
    if (layers.has(layer.diffId)) {
      continue;
    }
    await using blob = await layer.open();
    const { digest, bytes: size } = blob;
    layers.set(layer.diffId, { mediaType: types[image.compression], digest, size });
    if (!written.has(digest)) {
      written.add(digest);
      yield writeHeader({ name: blobName(digest), kind: 'file', size, mtime: 0 });
      yield* blob.read();
      yield padding(size);
    }
  }
  const config = descriptorOf(types.config, image.config);
  const manifest = imageManifest({
    types,
    config,
    layers: image.layers.map(({ diffId }) => layers.get(diffId)).filter((layer) => layer !== undefined),
    annotations: image.annotations,
  });
  const descriptor = descriptorOf(types.manifest, manifest);
  told(descriptor);
  yield* file(blobName(config.digest), image.config);
  yield* file(blobName(descriptor.digest), manifest);
  yield* file('index.json', indexOf({ ...descriptor, platform: image.platform }, names, annotations));
  if (hasDockerManifest) {
    const layerNames = image.layers.map(({ diffId }) => blobName(layers.get(diffId)?.digest ?? ''));
    const item = {
      Config: blobName(config.digest),
      RepoTags:
        names.length === 0 ? null : names.map((name) => name.replace(/^docker\.io\/(?:library\/)?/, '')),
      Layers: layerNames,
    };
    yield* file('manifest.json', Buffer.from(JSON.stringify([item])));
  }
  yield* file('oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}'));
  yield TAR_END;
}

/** The manifest of an image, its layers bottom first; one that it has twice is there twice. Pure. */
export function imageManifest({
  types,
  config,
  layers,
  annotations,
}: {
  types: { manifest: string };
  config: OciDescriptor;
  layers: readonly OciDescriptor[];
  annotations: ReadonlyMap<string, string>;
}): Buffer {
  const plain = ({ mediaType, digest, size }: OciDescriptor): OciDescriptor => ({ mediaType, digest, size });
  const manifest = {
    schemaVersion: 2,
    mediaType: types.manifest,
    config: plain(config),
    layers: layers.map((layer) => plain(layer)),
    ...(annotations.size > 0 && { annotations: Object.fromEntries(annotations) }),
  };
  return Buffer.from(JSON.stringify(manifest));
}

/** An entry for each name, as containerd writes them. */
function indexOf(
  descriptor: OciDescriptor,
  names: readonly string[],
  annotations: ReadonlyMap<string, string>,
): Buffer {
  const own = Object.fromEntries(annotations);
  const named = names.map((name) => ({
    ...descriptor,
    annotations: {
      ...own,
      'io.containerd.image.name': name,
      'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
    },
  }));
  const manifests =
    named.length > 0 ? named : [{ ...descriptor, ...(annotations.size > 0 && { annotations: own }) }];
  const index = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests };
  return Buffer.from(JSON.stringify(index));
}

function* file(name: string, content: Buffer): Generator<Buffer> {
  yield writeHeader({ name, kind: 'file', size: content.length, mtime: 0 });
  yield content;
  yield padding(content.length);
}

function descriptorOf(mediaType: string, bytes: Buffer): OciDescriptor {
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return { mediaType, digest, size: bytes.length };
}

function blobName(digest: string): string {
  return `${BLOBS}${digest.slice('sha256:'.length)}`;
}
