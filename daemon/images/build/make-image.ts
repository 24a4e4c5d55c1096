import type { NewBuildImage, NewImageList, NewListedImage } from '../../build/ports.ts';
import { parseImageConfig } from '../../../storage/image/image-config.ts';
import type { OciDescriptor } from '../../../storage/image-archives/oci-documents.ts';
import { canonicalRepository, type Reference } from '../../../storage/references/reference.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { ImageContext } from '../context.ts';
import { listDescriptor } from '../lists/describe.ts';
import { makeList, type NewListed } from '../lists/make-list.ts';
import { commitImage } from '../load/commit-image.ts';
import { descriptorOf } from '../manifests.ts';
import { digestImage, nameImage } from '../naming.ts';
import { parseName } from './build.ts';

/** Makes an image of layers that are here, with its names. */
export async function makeImage(
  context: ImageContext,
  { names, ...image }: NewBuildImage,
): Promise<{ id: string; names: string[] }> {
  const references = names.map((name) => parseName(name));
  const id = await commitLayers(context, image);
  failpoint('images.build.name');
  nameImage(context, id, references);
  return { id, names: references.map((reference) => fullName(reference)) };
}

/** Makes several, and one list of them that has the names. Where it fails those that were made have no name. */
export async function makeImageList(
  context: ImageContext,
  images: readonly NewListedImage[],
  { names, ...facts }: NewImageList,
): Promise<{ imageId: string; descriptor: OciDescriptor; names: string[] }> {
  const references = names.map((name) => parseName(name));
  const full = references.map((reference) => fullName(reference));
  const holds: Disposable[] = [];
  try {
    const made: NewListed[] = [];
    for (const { attestations, annotations, ...image } of images) {
      const imageId = await commitLayers(context, image);
      // Until the list has it a prune takes it for one that nothing needs.
      holds.push(context.index.hold(imageId));
      made.push({ imageId, attestations, annotations });
    }
    failpoint('images.build.name');
    const list = makeList(context, made, { ...facts, names: references, said: full });
    return { imageId: list.imageId, descriptor: listDescriptor(context, list), names: full };
  } finally {
    holds.forEach((hold) => hold[Symbol.dispose]());
  }
}

async function commitLayers(
  context: ImageContext,
  { layerIds, config }: Omit<NewBuildImage, 'names'>,
): Promise<string> {
  return await commitImage(context, {
    configBytes: config,
    config: parseImageConfig(config, 'image'),
    layers: layerIds.map((id) => context.index.layer(id)),
    names: [],
    action: 'make',
    parent: { parentId: '', stepKey: null },
  });
}

function fullName({ domain, path, tag }: Reference): string {
  return `${canonicalRepository({ domain, path })}:${tag ?? 'latest'}`;
}

/** BuildLayers of daemon/build/ports.ts: what an image, or its list, is called by its digest. */
export function callByDigest(
  context: ImageContext,
  imageId: string,
  {
    names,
    pushed,
    list,
  }: { names: readonly string[]; pushed: string | undefined; list?: string | undefined },
): string {
  const digest = pushed ?? list ?? descriptorOf(context, context.index.find(imageId)).digest;
  const repositories = names.map((name) => canonicalRepository(parseName(name)));
  digestImage(context, imageId, {
    repositories,
    digest,
    ...(pushed === undefined && { isOwn: true }),
    ...(list !== undefined && { list }),
  });
  return digest;
}
