import { invariant } from '../../daemon/base/errors.ts';
import { padding, TAR_END } from '../tar/encode.ts';
import { dockerManifest, repositoriesOf, type DockerItem } from './docker-documents.ts';
import { blobName } from './oci-blobs.ts';
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
  /** Undefined: what points to it does not say. */
  platform: { os: string; architecture: string; variant?: string } | undefined;
  /** It is in an index in any case. */
  isByPlatform: boolean;
  /** Of its manifest, and of what names it. */
  annotations: ReadonlyMap<string, string>;
  descriptorAnnotations: ReadonlyMap<string, string>;
  /** What is said of it, by the digest of its manifest; none = it needs no index. */
  statements: (digest: string) => readonly StatementBlob[];
  /** Of its layers and configuration, seconds since the epoch; 0 = none is told. */
  mtime?: number;
  /** Those of its layers alone, for docker before 1.10. */
  layerConfigs?: readonly Buffer[];
}

/** Images under the same names. */
export interface OciGroup {
  images: readonly OciImage[];
  /** That which `manifest.json` has, where there is one; its entries are of one platform. */
  meant: OciImage | undefined;
  /** In full: `docker.io/library/app:latest`. */
  names: readonly string[];
  /** Id of the image that `meant` was made from, which is in the archive too. */
  parentId?: string | undefined;
  /** Of the index of several images, and of what names it. */
  annotations: ReadonlyMap<string, string>;
  descriptorAnnotations: ReadonlyMap<string, string>;
  /** `config`, `manifest`, `attestation manifest` or `manifest list`; the last one is what the names mean. */
  told: (kind: string, descriptor: OciDescriptor) => void;
}

/** Beside the layout: `docker` = `manifest.json`, `saved` = that and `repositories`, as `docker save` has them. */
export type ArchiveForm = 'oci' | 'docker' | 'saved';

/**
 * Images as an OCI layout in a tar (https://github.com/opencontainers/image-spec/blob/main/image-layout.md): blobs, each
 * once, then the documents, those that `docker load` reads among them. Several images of a group, and one of which
 * something is said, have an index. Same images, same bytes.
 */
export async function* ociArchive(groups: readonly OciGroup[], form: ArchiveForm): AsyncGenerator<Buffer> {
  yield writeHeader({ name: 'blobs/', kind: 'directory', mtime: 0 });
  yield writeHeader({ name: 'blobs/sha256/', kind: 'directory', mtime: 0 });
  const blobs = new Blobs();
  const roots: OciDescriptor[] = [];
  const items: DockerItem[] = [];
  for (const group of groups) {
    const { root, item } = yield* writeGroup(blobs, group);
    roots.push(...named(root, group.names));
    items.push(...(item === undefined ? [] : [item]));
  }
  yield* file('index.json', imageIndex(imageTypes(true), roots, new Map()));
  if (form !== 'oci') {
    yield* file('manifest.json', dockerManifest(items, { hasSources: form === 'saved' }));
  }
  yield* file('oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}'));
  const repositories = form === 'saved' ? repositoriesOf(items) : undefined;
  if (repositories !== undefined) {
    yield* file('repositories', repositories);
  }
  yield TAR_END;
}

/** Answers what the names of the group mean, and its entry of `manifest.json`. */
async function* writeGroup(
  blobs: Blobs,
  { images, meant, names, parentId, annotations, descriptorAnnotations, told }: OciGroup,
): AsyncGenerator<Buffer, { root: OciDescriptor | undefined; item: DockerItem | undefined }> {
  const manifests: OciDescriptor[] = [];
  const said: OciDescriptor[] = [];
  let item: DockerItem | undefined;
  for (const image of images) {
    const written = yield* writeImage(blobs, image, told);
    manifests.push(written.descriptor);
    said.push(...(written.statements === undefined ? [] : [written.statements]));
    item = image === meant ? { config: written.config, layers: written.layers, names, parentId } : item;
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
  const { platform, mtime = 0, layerConfigs = [] } = image;
  for (const layer of image.layers) {
    yield* blobs.layer(layer, types[image.compression], mtime);
  }
  for (const bytes of layerConfigs) {
    yield* blobs.bytes(descriptorOf(types.config, bytes), bytes, mtime);
  }
  const layers = image.layers.map(({ diffId }) => blobs.layerOf(diffId));
  const config = descriptorOf(types.config, image.config);
  yield* blobs.bytes(config, image.config, mtime);
  told('config', config);
  const manifest = imageManifest({ types, config, layers, annotations: image.annotations });
  const descriptor = descriptorOf(types.manifest, manifest);
  yield* blobs.bytes(descriptor, manifest);
  told('manifest', { ...descriptor, ...(platform && { platform }) });
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
    descriptor: { ...descriptor, ...annotated(image.descriptorAnnotations), ...(platform && { platform }) },
    config,
    layers,
    statements: about?.descriptor,
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

  async *layer(
    { diffId, open }: OciImage['layers'][number],
    mediaType: string,
    mtime: number,
  ): AsyncGenerator<Buffer> {
    if (this.#layers.has(diffId)) {
      return;
    }
    await using blob = await open();
    const { digest, bytes: size } = blob;
    this.#layers.set(diffId, { mediaType, digest, size });
    if (!this.#written.has(digest)) {
      this.#written.add(digest);
      yield writeHeader({ name: blobName({ digest }), kind: 'file', size, mtime });
      yield* blob.read();
      yield padding(size);
    }
  }

  *bytes({ digest }: OciDescriptor, content: Buffer, mtime = 0): Generator<Buffer> {
    if (!this.#written.has(digest)) {
      this.#written.add(digest);
      yield* file(blobName({ digest }), content, mtime);
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

function* file(name: string, content: Buffer, mtime = 0): Generator<Buffer> {
  yield writeHeader({ name, kind: 'file', size: content.length, mtime });
  yield content;
  yield padding(content.length);
}
