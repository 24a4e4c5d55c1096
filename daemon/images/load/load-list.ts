import type { ProgressMessage } from '../../../api/types/image.ts';
import type { ImagePlan } from '../../../storage/image-archives/image-plan.ts';
import type { ListPlan } from '../../../storage/image-archives/oci-lists.ts';
import { canonicalRepository, familiarName, type Reference } from '../../../storage/references/reference.ts';
import type { ImageContext } from '../context.ts';
import { makeList, type NewListed } from '../lists/make-list.ts';

/** Loads the images of a list, one after the other, and gives it its names. */
export async function* loadList(
  context: ImageContext,
  { names, images, ...facts }: ListPlan,
  load: (plan: ImagePlan) => AsyncGenerator<ProgressMessage, string>,
): AsyncGenerator<ProgressMessage> {
  const holds: Disposable[] = [];
  try {
    const made: NewListed[] = [];
    for (const { plan, ...own } of images) {
      const imageId = yield* load(plan);
      // Until the list has it a prune takes it for one that nothing needs.
      holds.push(context.index.hold(imageId));
      made.push({ imageId, ...own });
    }
    const before = imagesNamed(context, names);
    const said = names.map((name) => `${canonicalRepository(name)}:${name.tag ?? 'latest'}`);
    const { imageId } = makeList(context, made, { ...facts, names, said });
    yield* loaded(imageId, names, before);
  } finally {
    holds.forEach((hold) => hold[Symbol.dispose]());
  }
}

interface Named {
  name: Reference;
  /** Undefined: there was no such name. */
  imageId: string | undefined;
}

/** What names mean now. */
export function imagesNamed({ index }: ImageContext, names: readonly Reference[]): Named[] {
  return names.map((name) => ({ name, imageId: index.tag(name)?.imageId }));
}

/** What a client is told of an image that is there now, and of those that had its names. Pure. */
export function* loaded(
  id: string,
  names: readonly Reference[],
  before: readonly Named[],
): Generator<ProgressMessage> {
  for (const { name, imageId } of before) {
    if (imageId !== undefined && imageId !== id) {
      const text = `The image ${familiarName(name)} already exists`;
      yield { stream: `${text}, renaming the old one with ID ${imageId} to empty string\n` };
    }
  }
  if (names.length === 0) {
    yield { stream: `Loaded image ID: ${id}\n` };
  }
  for (const name of names) {
    yield { stream: `Loaded image: ${familiarName(name)}\n` };
  }
}
