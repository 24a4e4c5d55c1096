import { posix } from 'node:path';
import { openReadRoot } from '../../../storage/contexts/roots.ts';
import {
  contextSources,
  imageSources,
  type Source,
  type SourceReading,
} from '../../../storage/contexts/sources.ts';
import { isEngineError, notFound } from '../../base/errors.ts';
import type { CopyFiles } from '../graph/op.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import type { OpDeps } from './ports.ts';
import { openTree } from './open-tree.ts';

const WILD = /[*?[\\]/;

/** Which files of a tree are meant, and how they are read. */
export interface Wanted extends SourceReading {
  sources: readonly string[];
}

export interface FoundSource {
  source: Source;
  /** By which of the paths. */
  asked: string;
}

/** How a copy reads its sources. Pure. */
export function readingOf({ exact, keepsParents }: CopyFiles): SourceReading {
  // `**` of `--parents` alone, as with BuildKit (`IncludePatterns`).
  return exact === undefined
    ? { isDeep: keepsParents }
    : { keepsLinks: !exact.followsLinks, isWhole: !exact.copiesContents };
}

/**
 * What sources of a copy mean in a tree: each that is named must be there, a pattern may mean nothing. Throws
 * not_found with the path, as BuildKit tells it.
 */
export async function findSources(
  deps: OpDeps,
  tree: BuildTree | undefined,
  { sources, signal, ...reading }: Wanted & { signal: AbortSignal },
): Promise<FoundSource[]> {
  const found: FoundSource[] = [];
  for (const asked of sources) {
    const path = posix.resolve('/', asked);
    const here = await findOne(deps, tree, { path, signal, ...reading });
    if (here.length === 0 && !isPattern(path)) {
      throw missingIn(deps, tree, plain(path));
    }
    found.push(...here.map((source) => ({ source, asked })));
  }
  return found;
}

/** Of a path that a tree does not have, in BuildKit's words: the engine's worker, and an id of the tree. */
export function missingIn({ workerId }: OpDeps, tree: BuildTree | undefined, path: string): Error {
  const reference = `${workerId}::${tree?.id ?? ''}`;
  return notFound(`failed to calculate checksum of ref ${reference}: ${JSON.stringify(path)}: not found`);
}

/** A path of which nothing but `literal` has made a pattern is none. */
function isPattern(path: string): boolean {
  return WILD.test(path.replaceAll(/\\[*?[\\]/g, ''));
}

function plain(path: string): string {
  return path.replaceAll(/\\([*?[\\])/g, '$1');
}

async function findOne(
  deps: OpDeps,
  tree: BuildTree | undefined,
  { path, signal, ...reading }: { path: string; signal: AbortSignal } & SourceReading,
): Promise<Source[]> {
  try {
    if (tree?.content.kind === 'files') {
      return contextSources(tree.content.context, path, 'COPY', reading);
    }
    await using root = await openReadRoot(deps, openTree(deps, tree));
    return await imageSources(deps.archives, { view: root.view, texts: [path], signal, ...reading });
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return [];
    }
    throw error;
  }
}
