import { limits } from '../../daemon/base/limits.ts';
import {
  allDescriptors,
  INDEX_TYPES,
  MANIFEST_TYPES,
  readLayers,
  readManifest,
  type Descriptor,
} from '../image/descriptor.ts';
import { wrong, type JsonObject } from '../image/json.ts';
import type { DocumentAnnotations } from '../database/manifest-list-rows.ts';
import type { Reference } from '../references/reference.ts';
import { documentAnnotations, isOciType } from './annotations.ts';
import type { Archive } from './archive.ts';
import type { ImagePlan } from './image-plan.ts';
import { blobName, nameOf, planManifest, readBlob, readDocument, toReference } from './oci-blobs.ts';
import { readStatement } from './read-statement.ts';
import { STATEMENT_MEDIA_TYPE, type Attestation } from './statement.ts';

/** Several images under the same names, and what is said of each, or one with annotations. */
export interface ListPlan {
  names: Reference[];
  /** Media types of the OCI image specification, else those of Docker. */
  isOci: boolean;
  /** There is no index. */
  isAlone: boolean;
  /** Of the index. */
  annotations: DocumentAnnotations | undefined;
  /** None of them has a name of its own. `annotations`: of its manifest. */
  images: {
    plan: ImagePlan;
    attestations: Attestation[];
    annotations: DocumentAnnotations | undefined;
  }[];
}

/** An image of a list. */
type Listed = ListPlan['images'][number];

interface ReadImage {
  plan: ImagePlan;
  /** Digest of the configuration, which is what an image is. */
  config: string;
  /** What is kept of the manifest. */
  document: JsonObject;
}

/** By their manifests; undefined = parts are missing. */
type Images = Map<string, ReadImage | undefined>;

/**
 * The lists that roots of a layout lead to: indexes with several images for Linux that are in the tarball, or with one
 * of which something is said, and manifests with annotations. `rest`: the roots that are no such list. Each
 * manifest and each index is read once, however many point to it.
 */
export async function planLists(
  archive: Archive,
  roots: readonly Descriptor[],
): Promise<{ lists: ListPlan[]; rest: Descriptor[] }> {
  const planned = new Map<string, ListPlan | undefined>();
  const images: Images = new Map();
  const rest: Descriptor[] = [];
  for (const root of roots) {
    const key = `${root.mediaType} ${root.digest}`;
    if (!planned.has(key)) {
      planned.set(key, await planList(archive, root, images));
    }
    const list = planned.get(key);
    if (list === undefined) {
      rest.push(root);
      continue;
    }
    const name = toReference(nameOf(root.annotations));
    list.names.push(...(name === undefined ? [] : [name]));
  }
  return { lists: [...planned.values()].filter((list) => list !== undefined), rest };
}

async function planList(archive: Archive, root: Descriptor, known: Images): Promise<ListPlan | undefined> {
  if (!INDEX_TYPES.has(root.mediaType)) {
    return MANIFEST_TYPES.has(root.mediaType) ? await planAnnotated(archive, root) : undefined;
  }
  const index = await readDocument(archive, root);
  const images = await listedImages(archive, allDescriptors(index, root.digest), known);
  const annotations = documentAnnotations(index, root);
  const isList =
    images.length > 1 ||
    (images.length === 1 && annotations !== undefined) ||
    images.some((image) => image.attestations.length > 0 || image.annotations !== undefined);
  return isList
    ? { names: [], isOci: isOciType(root.mediaType), isAlone: false, annotations, images }
    : undefined;
}

/** Of what an index has. One image may be there twice, or in several forms: its layers packed in two ways, say. */
async function listedImages(archive: Archive, all: readonly Descriptor[], known: Images): Promise<Listed[]> {
  const said = new Map(
    all
      .filter(({ annotations }) => annotations['vnd.docker.reference.type'] === 'attestation-manifest')
      .toReversed()
      .map((descriptor) => [descriptor.annotations['vnd.docker.reference.digest'] ?? '', descriptor]),
  );
  const images = new Map<string, Listed>();
  const manifests = new Map(all.filter((each) => isImage(each)).map((each) => [each.digest, each]));
  for (const [digest, descriptor] of manifests) {
    if (!known.has(digest)) {
      known.set(digest, await readImage(archive, descriptor));
    }
    const found = known.get(digest);
    if (found === undefined) {
      continue;
    }
    const before = images.get(found.config) ?? { plan: found.plan, attestations: [], annotations: undefined };
    const about = before.attestations.length > 0 ? undefined : said.get(digest);
    images.set(found.config, {
      plan: before.plan,
      attestations: about === undefined ? before.attestations : await readAbout(archive, about, digest),
      annotations: before.annotations ?? documentAnnotations(found.document, descriptor),
    });
  }
  return [...images.values()];
}

/** An image without an index; undefined = it has no annotations that are to be kept. */
async function planAnnotated(archive: Archive, root: Descriptor): Promise<ListPlan | undefined> {
  const annotations = documentAnnotations(await readDocument(archive, root), root);
  return annotations === undefined
    ? undefined
    : {
        names: [],
        isOci: isOciType(root.mediaType),
        isAlone: true,
        annotations: undefined,
        images: [{ plan: await planManifest(archive, root, []), attestations: [], annotations }],
      };
}

function isImage({ mediaType, platform, annotations }: Descriptor): boolean {
  return (
    MANIFEST_TYPES.has(mediaType) &&
    platform?.os === 'linux' &&
    annotations['vnd.docker.reference.type'] === undefined
  );
}

/** Engines that keep registries' blobs save the index as it was, with the images that they have. */
async function readImage(archive: Archive, descriptor: Descriptor): Promise<ReadImage | undefined> {
  if (!archive.has(blobName(descriptor))) {
    return undefined;
  }
  const manifest = await readDocument(archive, descriptor);
  const { config, layers } = readManifest(manifest, descriptor.digest);
  if (![config, ...layers].every((blob) => archive.has(blobName(blob)))) {
    return undefined;
  }
  const plan = await planManifest(archive, descriptor, []);
  return { plan, config: config.digest, document: { annotations: manifest['annotations'] } };
}

/** What a manifest says of an image; other forms than statements (signatures, say) are left. */
async function readAbout(archive: Archive, descriptor: Descriptor, image: string): Promise<Attestation[]> {
  if (!archive.has(blobName(descriptor))) {
    return [];
  }
  const statements = readLayers(await readDocument(archive, descriptor), descriptor.digest).filter(
    (layer) => layer.mediaType === STATEMENT_MEDIA_TYPE && archive.has(blobName(layer)),
  );
  if (statements.length > limits.attestationsMax) {
    throw wrong(descriptor.digest, `more than ${limits.attestationsMax} statements about an image`);
  }
  const said: Attestation[] = [];
  for (const layer of statements) {
    said.push(readStatement(await readBlob(archive, layer, limits.attestationBytesMax), layer, image));
  }
  return said;
}
