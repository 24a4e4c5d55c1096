import { isEngineError } from '../../base/errors.ts';
import type { ImageIndex, ImageRecord } from '../image-index.ts';

/** A step in the history of an image. */
export interface HistoryStep {
  image: ImageRecord;
  /** Of its history's entries. */
  position: number;
}

/**
 * Images that a client names with `cachefrom`. Then only they are a cache: steps that were built here and lead to one
 * of them, and steps of their history that follow on the same parent and were made by the same command. The client
 * decides which images it trusts; nothing of them serves builds that do not name them.
 */
export class CacheSources {
  readonly #index: ImageIndex;
  readonly #isGiven: boolean;
  #images: ImageRecord[];

  /** Images that are not here are left out, as dockerd does. */
  constructor(index: ImageIndex, refs: readonly string[]) {
    this.#index = index;
    this.#isGiven = refs.length > 0;
    this.#images = refs.flatMap((ref) => findIfThere(index, ref));
  }

  /** An image that a step made here may be taken again. */
  allows(image: ImageRecord): boolean {
    return (
      !this.#isGiven ||
      this.#images.some((source) => this.#index.lineageOf(source).some(({ row }) => row.id === image.row.id))
    );
  }

  /** The step that `createdBy` made of `parent`; from then on no other image is looked at. */
  find(parent: ImageRecord | undefined, createdBy: string): HistoryStep | undefined {
    const position = parent?.config.history.length ?? 0;
    const image = this.#images.find(
      (source) => follows(source, parent) && source.config.history[position]?.createdBy === createdBy,
    );
    if (image === undefined) {
      return undefined;
    }
    this.#images = [image];
    return { image, position };
  }
}

/** The first steps of an image are those of `parent`, entry by entry and layer by layer. Pure. */
function follows({ config }: ImageRecord, parent: ImageRecord | undefined): boolean {
  const { history, diffIds } = parent?.config ?? { history: [], diffIds: [] };
  return (
    history.length < config.history.length &&
    // Otherwise it is unknown which of its layers the next step made.
    layersOf(config.history.slice(history.length)) === config.diffIds.length - diffIds.length &&
    history.every((entry, index) => JSON.stringify(entry) === JSON.stringify(config.history[index])) &&
    diffIds.every((diffId, index) => diffId === config.diffIds[index])
  );
}

function layersOf(history: ImageRecord['config']['history']): number {
  return history.filter(({ emptyLayer }) => !emptyLayer).length;
}

function findIfThere(index: ImageIndex, ref: string): ImageRecord[] {
  try {
    return [index.find(ref)];
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return [];
    }
    throw error;
  }
}
