import { createHash } from 'node:crypto';
import { invariant } from '../../daemon/base/errors.ts';
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
  layers: readonly { diffId: string; open: () => Promise<OciBlob> }[];
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
  /** `config`, `manifest` or `manifest list`; the last one is what the names mean. */
  told: (kind: string, descriptor: OciDescriptor) => void;
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
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  gzip: 'application/vnd.oci.image.layer.v1.tar+gzip',
  uncompressed: 'application/vnd.oci.image.layer.v1.tar',
};
const DOCKER = {
  index: 'application/vnd.docker.distribution.manifest.list.v2+json',
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  gzip: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
  uncompressed: 'application/vnd.docker.image.rootfs.diff.tar',
};
const BLOBS = 'blobs/sha256/';

/**
 * Images of one build as an OCI layout in a tar (https://github.com/opencontainers/image-spec/blob/main/image-layout.md):
 * blobs, each once, then the documents. Several images have an index. Same images, same bytes.
 */
export async function* ociArchive(
  images: readonly OciImage[],
  { names, annotations, hasDockerManifest, told }: OciArchiveOptions,
): AsyncGenerator<Buffer> {
  yield writeHeader({ name: 'blobs/', kind: 'directory', mtime: 0 });
  yield writeHeader({ name: BLOBS, kind: 'directory', mtime: 0 });
  const blobs = new Blobs();
  const manifests: OciDescriptor[] = [];
  const items: object[] = [];
  for (const image of images) {
    const types = image.isOci ? IMAGE_TYPES : DOCKER;
    for (const layer of image.layers) {
      yield* blobs.layer(layer, types[image.compression]);
    }
    const layers = image.layers.map(({ diffId }) => blobs.layerOf(diffId));
    const config = descriptorOf(types.config, image.config);
    yield* blobs.bytes(config, image.config);
    told('config', config);
    const manifest = imageManifest({ types, config, layers, annotations: image.annotations });
    const descriptor = descriptorOf(types.manifest, manifest);
    yield* blobs.bytes(descriptor, manifest);
    told('manifest', descriptor);
    manifests.push({ ...descriptor, platform: image.platform });
    items.push({
      Config: blobName(config.digest),
      RepoTags:
        names.length === 0 ? null : names.map((name) => name.replace(/^docker\.io\/(?:library\/)?/, '')),
      Layers: layers.map(({ digest }) => blobName(digest)),
    });
  }
  let [root] = manifests;
  if (manifests.length > 1) {
    const types = images[0]?.isOci === true ? IMAGE_TYPES : DOCKER;
    const list = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests }));
    root = descriptorOf(types.index, list);
    yield* blobs.bytes(root, list);
    told('manifest list', root);
  }
  yield* file('index.json', indexOf(root === undefined ? [] : [root], names, annotations));
  if (hasDockerManifest) {
    yield* file('manifest.json', Buffer.from(JSON.stringify(items)));
  }
  yield* file('oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}'));
  yield TAR_END;
}

/** What is written already. */
class Blobs {
  readonly #layers = new Map<string, OciDescriptor>();
  readonly #written = new Set<string>();

  layerOf(diffId: string): OciDescriptor {
    const layer = this.#layers.get(diffId);
    invariant(layer !== undefined, `layer ${diffId} is not in the archive`);
    return layer;
  }

  async *layer({ diffId, open }: OciImage['layers'][number], mediaType: string): AsyncGenerator<Buffer> {
    if (this.#layers.has(diffId)) {
      return;
    }
    await using blob = await open();
    const { digest, bytes: size } = blob;
    this.#layers.set(diffId, { mediaType, digest, size });
    if (!this.#written.has(digest)) {
      this.#written.add(digest);
      yield writeHeader({ name: blobName(digest), kind: 'file', size, mtime: 0 });
      yield* blob.read();
      yield padding(size);
    }
  }

  *bytes({ digest }: OciDescriptor, content: Buffer): Generator<Buffer> {
    if (!this.#written.has(digest)) {
      this.#written.add(digest);
      yield* file(blobName(digest), content);
    }
  }
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
  roots: readonly OciDescriptor[],
  names: readonly string[],
  annotations: ReadonlyMap<string, string>,
): Buffer {
  const own = Object.fromEntries(annotations);
  const manifests = roots.flatMap((root) =>
    names.length === 0
      ? [{ ...root, ...(annotations.size > 0 && { annotations: own }) }]
      : names.map((name) => ({
          ...root,
          annotations: {
            ...own,
            'io.containerd.image.name': name,
            'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
          },
        })),
  );
  return Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: IMAGE_TYPES.index, manifests }));
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
