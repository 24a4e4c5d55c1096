import { limits } from '../../daemon/base/limits.ts';
import {
  allDescriptors,
  INDEX_TYPES,
  MANIFEST_TYPES,
  readLayers,
  readManifest,
  type Descriptor,
} from '../image/descriptor.ts';
import { asArray, asObject, asString, asStringMap, optional, parseJson, wrong } from '../image/json.ts';
import type { DocumentAnnotations } from '../database/rows.ts';
import type { Reference } from '../references/reference.ts';
import { documentAnnotations, isOciType } from './annotations.ts';
import type { Archive } from './archive.ts';
import type { ImagePlan } from './image-plan.ts';
import { blobName, nameOf, planManifest, readBlob, readDocument, toReference } from './oci-blobs.ts';
import { PREDICATE_ANNOTATION, STATEMENT_MEDIA_TYPE, type Attestation } from './statement.ts';

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

/**
 * The lists that roots of a layout lead to: indexes with several images for Linux that are in the tarball, or with one
 * of which something is said, and manifests with annotations. `rest`: the roots that are no such list.
 */
export async function planLists(
  archive: Archive,
  roots: readonly Descriptor[],
): Promise<{ lists: ListPlan[]; rest: Descriptor[] }> {
  const lists = new Map<string, ListPlan>();
  const rest: Descriptor[] = [];
  for (const root of roots) {
    const list = lists.get(root.digest) ?? (await planList(archive, root));
    if (list === undefined) {
      rest.push(root);
      continue;
    }
    lists.set(root.digest, list);
    const name = toReference(nameOf(root.annotations));
    list.names.push(...(name === undefined ? [] : [name]));
  }
  return { lists: [...lists.values()], rest };
}

async function planList(archive: Archive, root: Descriptor): Promise<ListPlan | undefined> {
  if (!INDEX_TYPES.has(root.mediaType)) {
    return MANIFEST_TYPES.has(root.mediaType) ? await planAnnotated(archive, root) : undefined;
  }
  const index = await readDocument(archive, root);
  const all = allDescriptors(index, root.digest);
  const said = all.filter(
    ({ annotations }) => annotations['vnd.docker.reference.type'] === 'attestation-manifest',
  );
  const images: ListPlan['images'] = [];
  for (const descriptor of all.filter((each) => isImage(each))) {
    if (await isWhole(archive, descriptor)) {
      const plan = await planManifest(archive, descriptor, []);
      const about = said.find(
        ({ annotations }) => annotations['vnd.docker.reference.digest'] === descriptor.digest,
      );
      const attestations = about === undefined ? [] : await readAbout(archive, about, descriptor.digest);
      const annotations = await manifestAnnotations(archive, descriptor);
      images.push({ plan, attestations, annotations });
    }
  }
  const annotations = documentAnnotations(index, root);
  const isList =
    images.length > 1 ||
    (images.length === 1 && annotations !== undefined) ||
    images.some((image) => image.attestations.length > 0 || image.annotations !== undefined);
  return isList
    ? { names: [], isOci: isOciType(root.mediaType), isAlone: false, annotations, images }
    : undefined;
}

/** An image without an index; undefined = it has no annotations that are to be kept. */
async function planAnnotated(archive: Archive, root: Descriptor): Promise<ListPlan | undefined> {
  const annotations = await manifestAnnotations(archive, root);
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

async function manifestAnnotations(
  archive: Archive,
  descriptor: Descriptor,
): Promise<DocumentAnnotations | undefined> {
  return documentAnnotations(await readDocument(archive, descriptor), descriptor);
}

function isImage({ mediaType, platform, annotations }: Descriptor): boolean {
  return (
    MANIFEST_TYPES.has(mediaType) &&
    platform?.os === 'linux' &&
    annotations['vnd.docker.reference.type'] === undefined
  );
}

/** Engines that keep registries' blobs save the index as it was, with the images that they have. */
async function isWhole(archive: Archive, descriptor: Descriptor): Promise<boolean> {
  if (!archive.has(blobName(descriptor))) {
    return false;
  }
  const { config, layers } = readManifest(await readDocument(archive, descriptor), descriptor.digest);
  return [config, ...layers].every((blob) => archive.has(blobName(blob)));
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

function readStatement(
  bytes: Buffer,
  { digest: where, annotations }: Descriptor,
  image: string,
): Attestation {
  const statement = asObject(parseJson(bytes, where), where);
  const predicateType =
    optional(statement['predicateType'], `${where}.predicateType`, asString) ??
    annotations[PREDICATE_ANNOTATION] ??
    '';
  const predicate = Buffer.from(JSON.stringify(statement['predicate'] ?? {}));
  const subjects = (optional(statement['subject'], `${where}.subject`, asArray) ?? []).map(
    (item, position) => {
      const subject = asObject(item, `${where}.subject[${position}]`);
      return {
        name: optional(subject['name'], `${where}.subject[${position}].name`, asString) ?? '',
        digest: optional(subject['digest'], `${where}.subject[${position}].digest`, asStringMap) ?? {},
      };
    },
  );
  // What is about the image is said of it by the digest that it has where it goes; what is about something else stays.
  const isOfImage = subjects.every(({ digest }) => `sha256:${digest['sha256'] ?? ''}` === image);
  return { predicateType, predicate, ...(!isOfImage && { subjects }), fileName: '', isInlineOnly: false };
}
