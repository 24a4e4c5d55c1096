import { invariant } from '../../daemon/base/errors.ts';
import { padding, TAR_END } from '../tar/encode.ts';
import {
  annotated,
  descriptorOf,
  imageIndex,
  imageManifest,
  imageTypes,
  statementDocuments,
  type LayerCompression,
  type OciDescriptor,
  type StatementBlob,
} from './oci-documents.ts';
import { writeHeader } from './tar-writer.ts';

/** A layer's bytes as they are in an archive. */
export interface OciBlob extends AsyncDisposable {
  /** sha256:... */
  digest: string;
  bytes: number;
  read: () => AsyncIterable<Buffer>;
}

/** An image to be written. Layers bottom first; each is opened when its turn comes, and disposed of. */
export interface OciImage {
  config: Buffer;
  layers: readonly { diffId: string; open: () => Promise<OciBlob> }[];
  compression: LayerCompression;
  /** Media types of the OCI image specification, else those of Docker. */
  isOci: boolean;
  platform: { os: string; architecture: string; variant?: string };
  /** It is in an index in any case. */
  isByPlatform: boolean;
  /** Of its manifest, and of what names it. */
  annotations: ReadonlyMap<string, string>;
  descriptorAnnotations: ReadonlyMap<string, string>;
  /** What is said of it, by the digest of its manifest; none = it needs no index. */
  statements: (digest: string) => readonly StatementBlob[];
}

export interface OciArchiveOptions {
  /** In full: `docker.io/library/app:latest`. */
  names: readonly string[];
  /** Of the index of several images, and of what names it. */
  annotations: ReadonlyMap<string, string>;
  descriptorAnnotations: ReadonlyMap<string, string>;
  /** `manifest.json` as well, which `docker load` reads. */
  hasDockerManifest: boolean;
  /** `config`, `manifest`, `attestation manifest` or `manifest list`; the last one is what the names mean. */
  told: (kind: string, descriptor: OciDescriptor) => void;
}

const BLOBS = 'blobs/sha256/';

/**
 * Images of one build as an OCI layout in a tar (https://github.com/opencontainers/image-spec/blob/main/image-layout.md):
 * blobs, each once, then the documents. Several images, and one of which something is said, have an index. Same images,
 * same bytes.
 */
export async function* ociArchive(
  images: readonly OciImage[],
  { names, annotations, descriptorAnnotations, hasDockerManifest, told }: OciArchiveOptions,
): AsyncGenerator<Buffer> {
  yield writeHeader({ name: 'blobs/', kind: 'directory', mtime: 0 });
  yield writeHeader({ name: BLOBS, kind: 'directory', mtime: 0 });
  const blobs = new Blobs();
  const manifests: OciDescriptor[] = [];
  const said: OciDescriptor[] = [];
  const items: object[] = [];
  for (const image of images) {
    const types = imageTypes(image.isOci);
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
    const { platform } = image;
    manifests.push({ ...descriptor, ...annotated(image.descriptorAnnotations), platform });
    told('manifest', { ...descriptor, platform });
    const statements = image.statements(descriptor.digest);
    if (statements.length > 0) {
      const about = statementDocuments(types, statements, descriptor.digest);
      for (const blob of about.blobs) {
        yield* blobs.bytes(blob.descriptor, blob.bytes);
      }
      yield* blobs.bytes(about.descriptor, about.manifest);
      told('attestation manifest', about.descriptor);
      said.push(about.descriptor);
    }
    items.push({
      Config: blobName(config.digest),
      RepoTags:
        names.length === 0 ? null : names.map((name) => name.replace(/^docker\.io\/(?:library\/)?/, '')),
      Layers: layers.map(({ digest }) => blobName(digest)),
    });
  }
  let [root] = manifests;
  if (said.length > 0 || images.some(({ isByPlatform }) => isByPlatform)) {
    const types = imageTypes(images[0]?.isOci === true);
    const list = imageIndex(types, [...manifests, ...said], annotations);
    const descriptor = descriptorOf(types.index, list);
    yield* blobs.bytes(descriptor, list);
    root = { ...descriptor, ...annotated(descriptorAnnotations) };
    told('manifest list', root);
  }
  yield* file('index.json', indexOf(root === undefined ? [] : [root], names));
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

/** An entry for each name, as containerd writes them. */
function indexOf(roots: readonly OciDescriptor[], names: readonly string[]): Buffer {
  const manifests = roots.flatMap((root) =>
    names.length === 0
      ? [root]
      : names.map((name) => ({
          ...root,
          annotations: {
            ...root.annotations,
            'io.containerd.image.name': name,
            'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
          },
        })),
  );
  return imageIndex(imageTypes(true), manifests, new Map());
}

function* file(name: string, content: Buffer): Generator<Buffer> {
  yield writeHeader({ name, kind: 'file', size: content.length, mtime: 0 });
  yield content;
  yield padding(content.length);
}

function blobName(digest: string): string {
  return `${BLOBS}${digest.slice('sha256:'.length)}`;
}
