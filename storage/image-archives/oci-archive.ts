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

/** Images under the same names. */
export interface OciGroup {
  images: readonly OciImage[];
  /** That which `manifest.json` has, where there is one; its entries are of one platform. */
  meant: OciImage | undefined;
  /** In full: `docker.io/library/app:latest`. */
  names: readonly string[];
  /** Of the index of several images, and of what names it. */
  annotations: ReadonlyMap<string, string>;
  descriptorAnnotations: ReadonlyMap<string, string>;
  /** `config`, `manifest`, `attestation manifest` or `manifest list`; the last one is what the names mean. */
  told: (kind: string, descriptor: OciDescriptor) => void;
}

const BLOBS = 'blobs/sha256/';

/**
 * Images as an OCI layout in a tar (https://github.com/opencontainers/image-spec/blob/main/image-layout.md): blobs, each
 * once, then the documents; with `hasDockerManifest` also `manifest.json`, which `docker load` reads. Several images of
 * a group, and one of which something is said, have an index. Same images, same bytes.
 */
export async function* ociArchive(
  groups: readonly OciGroup[],
  { hasDockerManifest }: { hasDockerManifest: boolean },
): AsyncGenerator<Buffer> {
  yield writeHeader({ name: 'blobs/', kind: 'directory', mtime: 0 });
  yield writeHeader({ name: BLOBS, kind: 'directory', mtime: 0 });
  const blobs = new Blobs();
  const roots: OciDescriptor[] = [];
  const items: object[] = [];
  for (const group of groups) {
    const { root, item } = yield* writeGroup(blobs, group);
    roots.push(...named(root, group.names));
    items.push(...(item === undefined ? [] : [item]));
  }
  yield* file('index.json', imageIndex(imageTypes(true), roots, new Map()));
  if (hasDockerManifest) {
    yield* file('manifest.json', Buffer.from(JSON.stringify(items)));
  }
  yield* file('oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}'));
  yield TAR_END;
}

/** Answers what the names of the group mean, and its entry of `manifest.json`. */
async function* writeGroup(
  blobs: Blobs,
  { images, meant, names, annotations, descriptorAnnotations, told }: OciGroup,
): AsyncGenerator<Buffer, { root: OciDescriptor | undefined; item: object | undefined }> {
  const manifests: OciDescriptor[] = [];
  const said: OciDescriptor[] = [];
  let item: object | undefined;
  for (const image of images) {
    const written = yield* writeImage(blobs, image, told);
    manifests.push(written.descriptor);
    said.push(...(written.statements === undefined ? [] : [written.statements]));
    item = image === meant ? dockerItem(written, names) : item;
  }
  const [first] = manifests;
  if (said.length === 0 && !images.some(({ isByPlatform }) => isByPlatform)) {
    return { root: first, item };
  }
  const types = imageTypes(images[0]?.isOci === true);
  const list = imageIndex(types, [...manifests, ...said], annotations);
  const descriptor = descriptorOf(types.index, list);
  yield* blobs.bytes(descriptor, list);
  const root = { ...descriptor, ...annotated(descriptorAnnotations) };
  told('manifest list', root);
  return { root, item };
}

interface WrittenImage {
  /** As it stands in an index. */
  descriptor: OciDescriptor;
  config: OciDescriptor;
  layers: readonly OciDescriptor[];
  statements: OciDescriptor | undefined;
}

async function* writeImage(
  blobs: Blobs,
  image: OciImage,
  told: OciGroup['told'],
): AsyncGenerator<Buffer, WrittenImage> {
  const types = imageTypes(image.isOci);
  for (const layer of image.layers) {
    yield* blobs.layer(layer, types[image.compression]);
  }
  const layers = image.layers.map(({ diffId }) => blobs.layerOf(diffId));
  const config = descriptorOf(types.config, image.config);
  yield* blobs.bytes(config, image.config);
  told('config', config);
  const manifest = imageManifest({ types, config, layers, annotations: image.annotations });
  const { platform } = image;
  const descriptor = descriptorOf(types.manifest, manifest);
  yield* blobs.bytes(descriptor, manifest);
  told('manifest', { ...descriptor, platform });
  const statements = image.statements(descriptor.digest);
  const about =
    statements.length === 0 ? undefined : statementDocuments(types, statements, descriptor.digest);
  if (about !== undefined) {
    for (const blob of about.blobs) {
      yield* blobs.bytes(blob.descriptor, blob.bytes);
    }
    yield* blobs.bytes(about.descriptor, about.manifest);
    told('attestation manifest', about.descriptor);
  }
  return {
    descriptor: { ...descriptor, ...annotated(image.descriptorAnnotations), platform },
    config,
    layers,
    statements: about?.descriptor,
  };
}

/** An entry of `manifest.json`. */
function dockerItem({ config, layers }: WrittenImage, names: readonly string[]): object {
  return {
    Config: blobName(config.digest),
    RepoTags:
      names.length === 0 ? null : names.map((name) => name.replace(/^docker\.io\/(?:library\/)?/, '')),
    Layers: layers.map(({ digest }) => blobName(digest)),
  };
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

/** An entry of `index.json` for each name, as containerd writes them. */
function named(root: OciDescriptor | undefined, names: readonly string[]): OciDescriptor[] {
  if (root === undefined || names.length === 0) {
    return root === undefined ? [] : [root];
  }
  return names.map((name) => ({
    ...root,
    annotations: {
      ...root.annotations,
      'io.containerd.image.name': name,
      'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
    },
  }));
}

function* file(name: string, content: Buffer): Generator<Buffer> {
  yield writeHeader({ name, kind: 'file', size: content.length, mtime: 0 });
  yield content;
  yield padding(content.length);
}

function blobName(digest: string): string {
  return `${BLOBS}${digest.slice('sha256:'.length)}`;
}
