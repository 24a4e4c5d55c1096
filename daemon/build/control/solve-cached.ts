import type { BuildSession } from '../../../api/types/build/session.ts';
import { writeInlineCache } from '../cache/exchange/document.ts';
import { Gathered, mapLayers } from '../cache/exchange/gathered.ts';
import type { CacheLayers } from '../cache/exchange/ports.ts';
import type { RecordCache } from '../cache/records.ts';
import type { FailedSteps } from '../containers/failed-steps.ts';
import type { Vertex } from '../graph/op.ts';
import type { UsedSource } from '../graph/used-source.ts';
import type { BuildLayers, BuiltCache } from '../ports.ts';
import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import type { SolveRequest } from '../solver/ports.ts';
import type { Solver } from '../solver/solver.ts';
import type { CacheExport, CacheImport } from './cache-options.ts';
import { openImports } from './import-caches.ts';
import type { Vertices } from './vertices.ts';

interface Solving {
  solver: Solver<BuildTree>;
  layers: Pick<BuildLayers, 'diffIds'>;
  caches: CacheLayers;
  records: RecordCache;
  session: BuildSession;
  vertices: Vertices;
  cacheExports: readonly CacheExport[];
  signal: AbortSignal;
  failed?: FailedSteps;
}

/** What was solved, held until it is disposed of. */
export interface Solved {
  trees: readonly (BuildTree | undefined)[];
  beside: readonly (BuildTree | undefined)[];
  /** For caches elsewhere; undefined = nobody wants it. */
  cache: BuiltCache | undefined;
  /** For the configuration of the image; empty = it is not wanted there. */
  inlineCache: Buffer;
  /** What it was made of. */
  sources: readonly UsedSource[];
  /** Trees, and what caches hold. */
  held: readonly (Disposable | undefined)[];
}

/** Solves a chain with what caches elsewhere have of it, and keeps what others want to have of it. */
export async function solveCached(
  build: Solving,
  chain: readonly Vertex[],
  asked: Required<Pick<SolveRequest, 'progress' | 'describe'>> & {
    imports: readonly CacheImport[];
    isInline: boolean;
    /** What is wanted besides. */
    beside: readonly (Vertex | undefined)[];
    warn: (text: string, detail: string) => void;
  },
): Promise<Solved> {
  const { solver, layers, records, session, signal, cacheExports } = build;
  using open = await openImports({ ...build, warn: asked.warn }, asked.imports);
  const isInline = asked.isInline || cacheExports.some(({ type }) => type === 'inline');
  const gathered = isInline || cacheExports.length > 0 ? new Gathered() : undefined;
  const sources: UsedSource[] = [];
  const all = await solver.solve([...chain, ...asked.beside], {
    session: session.id,
    progress: asked.progress,
    describe: asked.describe,
    signal,
    used: (source) => sources.push(source),
    ...(build.failed && { failed: (error: unknown) => build.failed?.add(error) }),
    ...(open.imports && { imports: open.imports }),
    ...(gathered && { keyed: gathered.keyed }),
  });
  const trees = all.slice(0, chain.length);
  const results = gathered?.hold(records, open.imports);
  const imageLayers = layersOfTree(trees.at(-1));
  const cache = results && { document: results.document, elsewhere: results.elsewhere, imageLayers };
  return {
    trees,
    beside: all.slice(chain.length),
    sources,
    cache,
    inlineCache: isInline && cache ? inlineOf(cache, layers) : Buffer.alloc(0),
    held: [...all, results],
  };
}

function inlineOf({ document, imageLayers }: BuiltCache, layers: Pick<BuildLayers, 'diffIds'>): Buffer {
  const named = mapLayers(document, (layerId) => layers.diffIds([layerId])[0] ?? '');
  return writeInlineCache(named, layers.diffIds(imageLayers));
}
