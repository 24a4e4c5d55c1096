import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { removeTree } from '../files/remove/remove-tree.ts';
import { adoptFiles } from './adopt.ts';
import type { AppliedLayer, ApplyControl, ApplyRequest } from './apply-request.ts';
import { LayerApplier } from './applier.ts';
import { feed, type Digests } from './feed.ts';
import { RecipeWriter } from './recipe.ts';
import { decompressRange, rangeFormat, readRange, type BlobRange } from './source.ts';
import { LayerTree } from './tree.ts';

/** Names inside a layer's directory. */
export const DIFF = 'diff';
export const RECIPE = 'recipe';

/**
 * Unpacks one layer into `directory/diff` and writes its recipe, digests checked. Runs in a worker: it blocks. Leaves
 * a half-filled directory when it throws; the caller removes it.
 * Throws EngineError invalid_argument when the layer is at fault, resource_exhausted when the disk is about to fill.
 */
export async function applyLayer(request: ApplyRequest, control: ApplyControl): Promise<AppliedLayer> {
  const { files, directory } = request;
  const places = { diff: join(directory, DIFF), recipe: join(directory, RECIPE) };
  if (files !== undefined) {
    const adopted = await adoptFiles(request, { files, ...places }, control);
    if (adopted !== undefined) {
      return adopted;
    }
    removeTree(files);
  }
  return await unpackLayer(request, control);
}

async function unpackLayer(request: ApplyRequest, control: ApplyControl): Promise<AppliedLayer> {
  const { blob, directory, what } = request;
  const diff = join(directory, DIFF);
  mkdirSync(diff, { mode: 0o755 });
  failpoint('images.load.layer');
  const recipeFd = openSync(join(directory, RECIPE), 'wx', 0o600);
  try {
    using tree = new LayerTree(diff);
    const recipe = new RecipeWriter(recipeFd);
    const applier = new LayerApplier(tree, recipe, what);
    let result: Digests;
    try {
      result = await feed(request, applier, control);
    } finally {
      if (applier.openFile !== undefined) {
        closeSync(applier.openFile);
      }
    }
    checkDigests(request, result);
    applier.finish();
    recipe.finish(result.tarBytes);
    if (tree.replaced) {
      // The files no longer tell what the tar held: the recipe becomes the tar itself.
      await writeVerbatim(directory, blob, what, result.tarBytes);
    }
    const { contentBytes } = applier;
    return { ...result, contentBytes, implied: [...tree.implied], warnings: tree.warnings };
  } finally {
    closeSync(recipeFd);
  }
}

function checkDigests(request: ApplyRequest, found: Digests): void {
  const { expectedDigest, expectedDiffId, what } = request;
  if (expectedDigest !== undefined && expectedDigest !== found.digest) {
    throw invalidArgument(`${what}: digest mismatch: expected ${expectedDigest}, got ${found.digest}`);
  }
  if (expectedDiffId !== undefined && expectedDiffId !== found.diffId) {
    throw invalidArgument(`${what}: diffID mismatch: expected ${expectedDiffId}, got ${found.diffId}`);
  }
}

async function writeVerbatim(
  directory: string,
  blob: BlobRange,
  what: string,
  tarBytes: number,
): Promise<void> {
  const fd = openSync(join(directory, RECIPE), 'w', 0o600);
  try {
    const recipe = new RecipeWriter(fd);
    const format = rangeFormat(blob, what);
    const chunks = format === undefined ? readRange(blob, what) : decompressRange(blob, format, { what });
    for await (const chunk of chunks) {
      recipe.raw(chunk);
    }
    recipe.finish(tarBytes);
  } finally {
    closeSync(fd);
  }
}
