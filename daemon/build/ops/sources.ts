import { posix } from 'node:path';
import { openReadRoot } from '../../../storage/contexts/roots.ts';
import { contextSources, imageSources, type Source } from '../../../storage/contexts/sources.ts';
import { isEngineError, notFound } from '../../base/errors.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import type { OpDeps } from './ports.ts';
import { openTree } from './open-tree.ts';

const WILD = /[*?[\\]/;

/**
 * What sources of a copy mean in a tree: each that is named must be there, a pattern may mean nothing. Throws
 * not_found with the path, as BuildKit tells it.
 */
export async function findSources(
  deps: OpDeps,
  tree: BuildTree | undefined,
  { sources, signal }: { sources: readonly string[]; signal: AbortSignal },
): Promise<{ source: Source; asked: string }[]> {
  const found: { source: Source; asked: string }[] = [];
  for (const asked of sources) {
    const path = posix.resolve('/', asked);
    const here = await findOne(deps, tree, { path, signal });
    if (here.length === 0 && !WILD.test(path)) {
      throw notFound(`failed to calculate checksum of ref: ${JSON.stringify(path)}: not found`);
    }
    found.push(...here.map((source) => ({ source, asked })));
  }
  return found;
}

async function findOne(
  deps: OpDeps,
  tree: BuildTree | undefined,
  { path, signal }: { path: string; signal: AbortSignal },
): Promise<Source[]> {
  try {
    if (tree?.content.kind === 'files') {
      return contextSources(tree.content.context, path, 'COPY');
    }
    await using root = await openReadRoot(deps, openTree(deps, tree));
    return await imageSources(deps.archives, { view: root.view, texts: [path], signal });
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return [];
    }
    throw error;
  }
}
