import type { NamedCache } from '../../../api/types/build/ports.ts';
import { parseImageConfig } from '../../../storage/image/image-config.ts';
import { formatPlatform, type Platform } from '../../../storage/image/platform.ts';
import { BuildError, UnsupportedError } from '../../base/build-error.ts';
import { invariant, isEngineError, notImplemented, type EngineError } from '../../base/errors.ts';
import type { FailedSteps } from '../containers/failed-steps.ts';
import type { CacheLayers } from '../cache/exchange/ports.ts';
import { parseReadable } from '../../base/dockerfile/parse.ts';
import { BUILDKIT } from '../frontend/dialect.ts';
import type { Answer } from '../frontend/answers/answer.ts';
import { describeAnswer, REQUESTS } from '../frontend/answers/describe.ts';
import { answerSubrequest } from '../frontend/answers/subrequest.ts';
import { parseLintConfig, type LintWarning } from '../frontend/lint/linter.ts';
import { makeGraph, type BuildGraph } from '../frontend/make-graph.ts';
import type { BuildOptions, FoundImage, FrontendPorts } from '../frontend/options.ts';
import type { Vertex } from '../graph/op.ts';
import type { UsedSource } from '../graph/used-source.ts';
import { findImage } from '../ops/image.ts';
import { datedConfig } from '../export/dated-config.ts';
import type { BuildLayers, BuiltImage } from '../ports.ts';
import { judged } from '../policy/asked-policy.ts';
import { convertGraph, convertOp } from '../policy/convert-graph.ts';
import { convertImage } from '../policy/evaluate.ts';
import type { Contexts } from '../session/contexts.ts';
import type { RecordCache } from '../cache/records.ts';
import type { Sessions } from '../session/sessions.ts';
import { layersOfTree, type BuildTree } from '../snapshots/tree.ts';
import { release, type RunContext } from '../solver/ports.ts';
import { isSource } from '../solver/reads.ts';
import { buildOptions } from './build-options.ts';
import { namedCaches, readCacheImports, type CacheExport, type CacheImport } from './cache-options.ts';
import { loadLayout } from '../context/image-layout.ts';
import { ownerOf, type ContextLoading } from '../context/main-context.ts';
import { loadIgnore, refuseOtherSyntax, type Definition } from './definition.ts';
import { loadSources, type LoadedSources } from './load-sources.ts';
import type { TreeReader } from '../ops/tree-reader.ts';
import { finishedConfig, imageIdOf } from './finished-config.ts';
import { readOptions, type FrontendOptions } from './options.ts';
import { solveCached, type Solved } from './solve-cached.ts';
import { tellWarning, tellWarnings } from './tell-warnings.ts';
import { chainOf, VertexProgress } from './vertex-progress.ts';

/** What a Dockerfile of a client is built with. */
export interface DockerfileBuild extends ContextLoading {
  contexts: Contexts;
  trees: TreeReader;
  sessions: Sessions;
  layers: BuildLayers;
  caches: CacheLayers;
  records: RecordCache;
  cacheExports: readonly CacheExport[];
  cacheImports: readonly NamedCache[];
  /** Keeps what failed for a client that may look into it; undefined = nobody does. */
  failed?: FailedSteps;
}

/** What comes of it: an image, or an answer to what a client asked instead of a build. */
export type DockerfileResult = { image: BuiltImage } | { answer: Answer };

/**
 * The frontend `dockerfile.v0`: gets the Dockerfile of the client's session, makes a graph of it and has it solved.
 * Throws BuildError, with the place in the Dockerfile where there is one.
 */
export async function buildDockerfile(
  build: DockerfileBuild,
  attributes: ReadonlyMap<string, string>,
): Promise<DockerfileResult> {
  const options = readOptions(attributes);
  if (options.subrequest === 'frontend.subrequests.describe') {
    // What may be asked is the same for all: its client may offer no files.
    return { answer: describeAnswer() };
  }
  if (options.subrequest !== '' && !REQUESTS.has(options.subrequest)) {
    throw new UnsupportedError('request', options.subrequest);
  }
  const imports = readCacheImports(namedCaches(build.cacheImports, options.cacheImports));
  using sources = await loadSources(build, options);
  const { definition } = sources;
  refuseOtherSyntax(definition);
  const [platform = ''] = options.platforms;
  if (options.subrequest !== '') {
    using read = await judged(build.signal, () => new Reading(build, { options, platform, sources }));
    return { answer: await read.answer(options.subrequest) };
  }
  const images: BuiltImage[] = [];
  try {
    for (const each of options.platforms.length === 0 ? [''] : options.platforms) {
      images.push(await buildFor(build, each, { options, sources, imports }));
    }
  } catch (error) {
    release(images);
    throw error;
  }
  return { image: together(images, options.isMultiPlatform) };
}

/** For one platform; `''` = none is asked for. */
async function buildFor(
  build: DockerfileBuild,
  platform: string,
  {
    options,
    sources,
    imports,
  }: { options: FrontendOptions; sources: LoadedSources; imports: readonly CacheImport[] },
): Promise<BuiltImage> {
  using read = await judged(build.signal, () => new Reading(build, { options, platform, sources }));
  const graph = await read.graph();
  const { epochSeconds, isCacheInline: isInline } = options;
  const image = await solveGraph(build, sources.definition, { graph, isInline, imports, epochSeconds });
  return {
    ...image,
    sources: [...sources.used, ...image.sources.filter((used) => !isContext(used, sources))],
  };
}

/** What the context itself was made of is told instead. */
function isContext(used: UsedSource, { context }: LoadedSources): boolean {
  return used.kind === 'held' && used.id === context?.id;
}

/** The first of them, with the others; at least one. `isMap`: by their platforms. Pure. */
function together(images: readonly BuiltImage[], isMap: boolean): BuiltImage {
  const [first, ...others] = images;
  invariant(first !== undefined, 'a build without a platform');
  return !isMap ? first : { ...first, others, [Symbol.dispose]: () => release(images) };
}

/** A Dockerfile that is read. Images that it names are here, and held, until it is disposed of. */
class Reading implements Disposable {
  readonly #build: DockerfileBuild;
  readonly #definition: Definition;
  readonly #check: string;
  readonly #localSessions: ReadonlyMap<string, string>;
  readonly #options: BuildOptions;
  readonly #holds: Disposable[] = [];

  constructor(
    build: DockerfileBuild,
    { options, platform, sources }: { options: FrontendOptions; platform: string; sources: LoadedSources },
  ) {
    this.#build = build;
    this.#localSessions = options.localSessions;
    this.#definition = sources.definition;
    this.#check = options.check;
    const { ignorePatterns, context } = sources;
    this.#options = buildOptions(options, { ...build, platform, ignorePatterns, context });
  }

  async graph(): Promise<BuildGraph> {
    return await this.#located(async () => {
      const dockerfile = parseReadable(BUILDKIT, this.#definition.text);
      const lint = parseLintConfig(this.#check || dockerfile.directives.check);
      const warnings: LintWarning[] = [];
      try {
        const request = { dockerfile, options: this.#options, lint, readsAll: false, warnings };
        const graph = await makeGraph(request, this.#ports());
        const owner = ownerOf(this.#build);
        const tree = await judged(this.#build.signal, () => convertGraph(graph.tree, owner));
        return { ...graph, tree };
      } finally {
        tellWarnings(this.#build.vertices, this.#definition, warnings);
      }
    });
  }

  async answer(name: string): Promise<Answer> {
    const { name: filename, text } = this.#definition;
    const job = { name, source: { filename, text }, options: this.#options, check: this.#check };
    return await this.#located(async () => await answerSubrequest(job, this.#ports()));
  }

  [Symbol.dispose](): void {
    release(this.#holds);
  }

  #ports(): FrontendPorts {
    const mode = this.#options.pulls ? 'pull' : 'local';
    // Stages on the same image ask for it once.
    const asked = new Map<string, Promise<FoundImage>>();
    return {
      findImage: (reference, platform) => {
        const key = `${reference} ${formatPlatform(platform)}`;
        const found = asked.get(key) ?? loadImage(this.#build, { reference, platform, mode }, this.#holds);
        asked.set(key, found);
        return found;
      },
      findLayout: async (layout, platform) => {
        const named = { kind: 'layout', ...layout, session: this.#build.session.id, platform: '' } as const;
        const op = await judged(this.#build.signal, () => convertOp(named, ownerOf(this.#build)));
        if (op.kind !== 'layout') {
          throw notImplemented(`oci-layout://${layout.store}: a source policy makes no layout of it`);
        }
        const { kept, ...found } = await loadLayout(this.#build, op, platform);
        this.#holds.push(kept);
        return found;
      },
      ignoredOf: async (directory, name) =>
        await loadIgnore(
          this.#build,
          { contextName: directory, localSessions: this.#localSessions, tree: undefined },
          { ignore: undefined },
          `[context ${name}] load .dockerignore`,
        ),
    };
  }

  async #located<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw isEngineError(error) ? locatedByLines(error, this.#definition) : error;
    }
  }
}

async function loadImage(
  build: DockerfileBuild,
  { reference: asked, platform, mode }: { reference: string; platform: Platform; mode: 'local' | 'pull' },
  holds: Disposable[],
): Promise<FoundImage> {
  const { vertices, layers, sessions, session, signal } = build;
  const reference = await judged(signal, () => convertImage(asked, formatPlatform(platform), build.convert));
  return await vertices.run(`[internal] load metadata for ${asked}`, async (vertex) => {
    const context: Omit<RunContext, 'used'> = {
      signal,
      sessions: () => [session.id],
      log: (stream, bytes) => vertex.output(stream, Buffer.from(bytes)),
      work: ({ name, current, total, isDone }) =>
        vertex.progress(name, { current, ...(total !== undefined && { total }), isLast: isDone }),
    };
    const source = { reference, platform: formatPlatform(platform), mode };
    const found = await findImage({ layers, sessions }, source, context);
    holds.push(found.pin);
    const { os, architecture, variant, author, config, history } = parseImageConfig(found.config, reference);
    return {
      // With the digest that a registry knows it by.
      reference: found.digest === '' ? reference : `${reference.replace(/@.*$/, '')}@${found.digest}`,
      hasLayers: found.layerIds.length > 0,
      os,
      architecture,
      variant,
      author,
      config,
      history,
    };
  });
}

async function solveGraph(
  build: DockerfileBuild,
  definition: Definition,
  asked: {
    graph: BuildGraph;
    isInline: boolean;
    imports: readonly CacheImport[];
    epochSeconds: number | undefined;
  },
): Promise<BuiltImage> {
  const { layers, vertices } = build;
  const { graph, isInline, imports, epochSeconds } = asked;
  const { tree, image, scanned } = graph;
  const chain = chainOf(tree);
  const beside = [...scanned.values()];
  const progress = new VertexProgress(vertices, [tree, ...beside]);
  const warn = (short: string, detail: string): void => tellWarning(vertices, definition, { short, detail });
  let solved: Solved;
  try {
    const how = { progress, describe: commandText, imports, isInline, warn, beside };
    solved = await solveCached(build, chain, how);
  } catch (error) {
    throw isEngineError(error) ? failure(error, definition, { progress, ...build }) : error;
  }
  const { trees, sources, cache, inlineCache, held } = solved;
  const steps = stepsOf(chain, trees);
  const diffIds = layers.diffIds(layersOfTree(trees.at(-1)));
  const made = finishedConfig(image, { steps, diffIds, inlineCache });
  const config = epochSeconds === undefined ? made : datedConfig(made, epochSeconds);
  return {
    id: imageIdOf(config),
    config,
    ...(cache && { cache }),
    tree: trees.at(-1),
    sources,
    recipe: {
      target: tree,
      file: definition,
      baseLayers: baseLayersOf(chain, trees),
      scanned: new Map([...scanned.keys()].map((name, position) => [name, solved.beside[position]])),
    },
    epochSeconds,
    [Symbol.dispose]: () => release(held),
  };
}

/** Layers of the image that a chain begins with. Pure. */
export function baseLayersOf([base]: readonly Vertex[], [tree]: readonly (BuildTree | undefined)[]): number {
  return base?.op.kind === 'image' || base?.op.kind === 'layout' ? layersOfTree(tree).length : 0;
}

/** Of each operation of the chain, whether it has brought a layer, and when it was done. */
export function stepsOf(
  chain: readonly Vertex[],
  trees: readonly (BuildTree | undefined)[],
): { hasLayer: boolean; createdMs: number | undefined }[] {
  let before = 0;
  return chain.flatMap((vertex, position) => {
    const tree = trees[position];
    const { length } = layersOfTree(tree);
    const hasLayer = length > before;
    before = length;
    return isSource(vertex.op) ? [] : [{ hasLayer, createdMs: tree?.createdMs }];
  });
}

/** The error of a step, in BuildKit's words and with its place. */
export function failure(
  error: EngineError,
  { name, text }: Pick<Definition, 'name' | 'text'>,
  { progress, failed }: { progress: VertexProgress; failed?: FailedSteps },
): BuildError {
  const said = commandText(error) ?? error.message;
  // The step says it without these words, as with BuildKit.
  const message = said.startsWith('failed to calculate checksum')
    ? `failed to compute cache key: ${said}`
    : said;
  const step = failed?.describe(error);
  return new BuildError(error.code, message, { cause: error, step, ...progress.failure(name, text) });
}

/** The error of a Dockerfile, with the lines that it names. */
function locatedByLines(error: EngineError, { name, text }: Definition): BuildError {
  const { line, endLine = line } = error.details;
  const source =
    typeof line === 'number' && typeof endLine === 'number' && line > 0
      ? { filename: name, data: text, line, endLine }
      : undefined;
  const message = error.message.replace(/^dockerfile parse error line /, 'dockerfile parse error on line ');
  return new BuildError(error.code, message, { cause: error, source, vertex: undefined });
}

/** A command that failed, in BuildKit's words. */
export function commandText(error: unknown): string | undefined {
  if (
    !isEngineError(error) ||
    !('exitCode' in error) ||
    !('command' in error) ||
    !Array.isArray(error.command)
  ) {
    return undefined;
  }
  const command = JSON.stringify(error.command.join(' '));
  return `process ${command} did not complete successfully: exit code: ${String(error.exitCode)}`;
}
