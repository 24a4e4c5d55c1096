import type {
  DocumentAnnotations,
  ListedImage,
  ManifestListRow,
} from '../../../storage/database/manifest-list-rows.ts';
import type { ImageDigestRow, TagRow } from '../../../storage/database/rows.ts';
import { isOciType } from '../../../storage/image-archives/annotations.ts';
import type { Descriptor } from '../../../storage/image/descriptor.ts';
import type { ImageConfig } from '../../../storage/image/image-config.ts';
import { hostPlatform } from '../../../storage/image/platform.ts';
import type { Reference } from '../../../storage/references/reference.ts';
import type { ImageContext } from '../context.ts';

/** What is said of an image, as a registry has it. */
export interface PulledStatements {
  /** Of their manifest. */
  digest: string;
  sizeBytes: number;
  /** By their digests: the manifest, and blobs of it. */
  documents: ReadonlyMap<string, Buffer>;
}

/** The index that a name led to, and what came of it. */
export interface PulledIndex {
  reference: Reference;
  /** In full. */
  name: string;
  digest: string;
  mediaType: string;
  bytes: Buffer;
  manifests: readonly Descriptor[];
  annotations: DocumentAnnotations | undefined;
  /** The manifest of the image. */
  image: { digest: string; bytes: Buffer; annotations: DocumentAnnotations | undefined };
  statements: PulledStatements | undefined;
}

/** What a name that was pulled means. */
export interface JoinedList {
  row: ManifestListRow;
  /** How the list changes; undefined = it has the image already. */
  change: { listed: ListedImage; documents: ReadonlyMap<string, Buffer> } | undefined;
  /** Names that mean another image of it from now on. */
  tags: TagRow[];
  digests: ImageDigestRow[];
}

/**
 * The list that a pulled image is in: one that was made here and pushed, or that of the registry, which the image
 * joins. Pure but for what is in memory.
 */
export function joinList(
  { index }: Pick<ImageContext, 'index'>,
  pulled: PulledIndex,
  image: { id: string; config: ImageConfig },
): JoinedList {
  const { id } = image;
  const { list = pulled.digest } = index.digest({ ...pulled.reference, digest: pulled.digest }) ?? {};
  const made = index.lists.get(list);
  if (made !== undefined && made.index === undefined && made.images.some(({ imageId }) => imageId === id)) {
    return { row: made, change: undefined, tags: [], digests: [] };
  }
  const found = index.lists.get(pulled.digest);
  const known = found?.index === undefined ? undefined : found;
  const listed = listedOf(pulled, id, known);
  const row = joinedRow(pulled, { image, listed, known });
  const moved = known === undefined || known.imageId === row.imageId ? undefined : known;
  const means = { imageId: row.imageId, list: row.id };
  return {
    row,
    change: { listed, documents: documentsOf(pulled) },
    tags: index
      .tagsOf(moved?.imageId ?? '')
      .filter((tag) => tag.list === row.id)
      .map((tag) => ({ ...tag, ...means })),
    digests: index
      .digestsOf(moved?.imageId ?? '')
      .filter((digest) => digest.list === row.id)
      .map((digest) => ({ ...digest, ...means })),
  };
}

function listedOf(
  { image, statements }: PulledIndex,
  imageId: string,
  known: ManifestListRow | undefined,
): ListedImage {
  const before = known?.images.find(({ manifest }) => manifest === image.digest)?.statements;
  const said =
    statements === undefined ? before : { digest: statements.digest, sizeBytes: statements.sizeBytes };
  return {
    imageId,
    manifest: image.digest,
    ...(image.annotations && { annotations: image.annotations }),
    ...(said && { statements: said }),
  };
}

function joinedRow(
  pulled: PulledIndex,
  {
    image,
    listed,
    known,
  }: { image: { id: string; config: ImageConfig }; listed: ListedImage; known: ManifestListRow | undefined },
): ManifestListRow {
  const { manifests, mediaType, annotations } = pulled;
  const position = ({ manifest }: ListedImage): number =>
    manifests.findIndex(({ digest }) => digest === manifest);
  const others = known?.images.filter(({ manifest }) => manifest !== listed.manifest) ?? [];
  const { os, architecture } = hostPlatform();
  const isForHost = image.config.os === os && image.config.architecture === architecture;
  return {
    id: pulled.digest,
    imageId: isForHost ? image.id : (known?.imageId ?? image.id),
    sizeBytes: pulled.bytes.length,
    isOci: isOciType(mediaType),
    ...(annotations && { annotations }),
    index: { mediaType, manifests },
    names: known?.names ?? [pulled.name],
    images: [...others, listed].toSorted((a, b) => position(a) - position(b)),
  };
}

function documentsOf({ digest, bytes, image, statements }: PulledIndex): ReadonlyMap<string, Buffer> {
  return new Map([[digest, bytes], [image.digest, image.bytes], ...(statements?.documents ?? [])]);
}
