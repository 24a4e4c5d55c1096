import { closeSync, copyFileSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { internal } from '../../daemon/base/errors.ts';
import { DIFF, RECIPE } from './apply.ts';
import { compareTrees } from './compare.ts';
import { inheritDirectories } from './inherit.ts';
import { isRecipeWhole } from './recipe.ts';
import { unfoldLayer, type Unfolded } from './unfold.ts';

const RECIPE_DAMAGED = 'its recipe is damaged: it runs, but can be neither saved nor pushed nor checked';

/** A layer, and what it lies on. */
export interface LayerLocation {
  directory: string;
  /** sha256:... of its tar; undefined = not known. */
  diffId: string | undefined;
  /** `diff` directories of the layers below, topmost first. */
  lowers: readonly string[];
}

export interface LayerVerdict {
  /** What its recipe and files make; null when nothing can be told. */
  diffId: string | null;
  contentBytes: number;
  /** One sentence each; empty: it is what was unpacked. */
  problems: string[];
  /** Its bytes are all there: only names, modes and the like are wrong, which `rebuildLayer` makes anew. */
  isRebuildable: boolean;
}

/**
 * Reads a layer back against its diff ID, and compares its tree with the one that its tar makes. `scratch` is a
 * directory to be made, on the same file system; it is gone afterwards. Blocks.
 */
export async function verifyLayer(place: LayerLocation, scratch: string): Promise<LayerVerdict> {
  mkdirSync(scratch, { mode: 0o700 });
  try {
    let read = await unfold(place, scratch, { contents: false });
    if (read.isReplaced) {
      // The recipe holds what the files should: only then do the files have to be compared with it.
      rmSync(join(scratch, DIFF), { recursive: true });
      read = await unfold(place, scratch, { contents: true });
    }
    const { diffId, contentBytes, implied, isReplaced } = read;
    if (diffId === null) {
      return { diffId, contentBytes, problems: read.problems, isRebuildable: false };
    }
    const isWhole = diffId === place.diffId ? undefined : isWholeRecipe(place.directory);
    if (isWhole === false) {
      // What the files should be is not known then.
      return { diffId, contentBytes, problems: [RECIPE_DAMAGED], isRebuildable: false };
    }
    const trees = compareTrees(join(scratch, DIFF), join(place.directory, DIFF), {
      contents: isReplaced,
      implied: new Set(implied),
    });
    const isIntact = diffId === (place.diffId ?? diffId) && read.problems.length === 0;
    const changed =
      isIntact || read.problems.length > 0
        ? []
        : [
            `the bytes of its files${isWhole === true ? '' : ' or of its recipe'} were changed: they make ${diffId}`,
          ];
    // Both may have met the same file.
    const problems = [...new Set([...read.problems, ...changed, ...trees])];
    return { diffId, contentBytes, problems, isRebuildable: isIntact };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** undefined when an older version has made it. */
function isWholeRecipe(directory: string): boolean | undefined {
  const fd = openSync(join(directory, RECIPE), 'r');
  try {
    return isRecipeWhole(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes the layer once more in `target`, a directory to be made, from what `verifyLayer` has found to be all there. */
export async function rebuildLayer(place: LayerLocation, target: string): Promise<void> {
  mkdirSync(target, { mode: 0o700 });
  const { diffId, problems } = await unfold(place, target, { contents: true });
  if (diffId === null || diffId !== place.diffId || problems.length > 0) {
    throw internal(`layer ${place.diffId}: changed while it was rebuilt`);
  }
  copyFileSync(join(place.directory, RECIPE), join(target, RECIPE));
}

async function unfold(
  { directory, diffId, lowers }: LayerLocation,
  target: string,
  { contents }: { contents: boolean },
): Promise<Unfolded> {
  const read = unfoldLayer(directory, target, { contents, what: `layer ${diffId ?? directory}` });
  await inheritDirectories(join(target, DIFF), lowers, read.implied);
  return read;
}
