import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openReadRoot, type ReadRoot } from '../../../storage/contexts/roots.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { DiffOp } from '../graph/op.ts';
import type { PinnedLayers } from '../ports.ts';
import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import { openTree } from './open-tree.ts';
import type { OpDeps } from './ports.ts';

/**
 * What a tree has that another has not, as layers: with deletions those above the other's where it stands on it, else
 * one layer of all that is different.
 */
export async function runDiff(
  deps: OpDeps,
  { hasDeletions }: DiffOp,
  { inputs, signal }: { inputs: readonly (BuildTree | undefined)[]; signal: AbortSignal },
): Promise<PinnedLayers> {
  const { layers } = deps;
  const [lower, upper] = inputs;
  const below = layersOfTree(lower);
  const all = layersOfTree(upper);
  failpoint('build.ops.diff');
  if (below.length === 0) {
    return layers.pin(all);
  }
  const isAbove = below.every((layerId, position) => layerId === all[position]);
  const above = all.slice(below.length);
  if (isAbove && (hasDeletions || above.length === 0)) {
    return await layers.stack([], above, signal);
  }
  if (isAbove) {
    return await shownAlone(deps, layers.lowers(above), signal);
  }
  await using before = await openReadRoot(deps, openTree(deps, lower));
  await using now = await openReadRoot(deps, openTree(deps, upper));
  return await layerOf(deps, { before, now, hasDeletions, signal });
}

async function layerOf(
  { layers, spools }: OpDeps,
  {
    before,
    now,
    hasDeletions,
    signal,
  }: { before: ReadRoot; now: ReadRoot; hasDeletions: boolean; signal: AbortSignal },
): Promise<PinnedLayers> {
  const upper = now.view.root;
  const request = { upper, merged: upper, lower: before.view.root, isPlain: true, isComplete: true };
  await using tar = await spools.ofChanges({ ...request, skipsDeletions: !hasDeletions }, signal);
  return await layers.commit([], { tar }, signal);
}

/** What layers show that stand on nothing, without what they delete: an overlay hides it, if it has two directories. */
async function shownAlone(
  deps: OpDeps,
  lowers: readonly string[],
  signal: AbortSignal,
): Promise<PinnedLayers> {
  const empty = join(deps.temporary, `build-diff-${randomBytes(8).toString('hex')}`);
  await mkdir(empty, { mode: 0o755 });
  try {
    await using before = await openReadRoot(deps, [empty]);
    await using now = await openReadRoot(deps, [...lowers, empty]);
    return await layerOf(deps, { before, now, hasDeletions: false, signal });
  } finally {
    await rm(empty, { recursive: true, force: true });
  }
}
