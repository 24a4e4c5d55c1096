import type { BuildDefinition } from '../../../api/types/build/definition.ts';
import { hostPlatform } from '../../../storage/image/platform.ts';
import { isEngineError } from '../../base/errors.ts';
import { ownerOf } from '../context/main-context.ts';
import { judged } from '../policy/asked-policy.ts';
import { readGraph } from './read-graph.ts';
import type { BuiltImage } from '../ports.ts';
import { layersOfTree } from '../snapshots/tree.ts';
import { release } from '../solver/ports.ts';
import { baseLayersOf, commandText, failure, stepsOf, type DockerfileBuild } from '../control/dockerfile.ts';
import { finishedConfig, imageIdOf } from '../control/finished-config.ts';
import { givenConfig } from './given-config.ts';
import { namedCaches, readCacheImports } from '../control/cache-options.ts';
import { solveCached } from '../control/solve-cached.ts';
import { tellWarning } from '../control/tell-warnings.ts';
import { chainOf, VertexProgress } from '../control/vertex-progress.ts';

/**
 * Has a client's graph solved. What comes of it has no configuration but that which the client gives it afterwards.
 * Throws BuildError, with the place in the client's first file where it names one.
 */
export async function buildGraph(build: DockerfileBuild, definition: BuildDefinition): Promise<BuiltImage> {
  const { layers, vertices } = build;
  const imports = readCacheImports(namedCaches(build.cacheImports));
  const platform = hostPlatform();
  const target = await judged(build.signal, () => readGraph(definition, ownerOf(build)));
  const chain = chainOf(target);
  const progress = new VertexProgress(vertices, [target]);
  const [file = { name: '', data: '' }] = definition.files;
  const source = { name: file.name, text: file.data, ignore: undefined, vertex: '' };
  const warn = (short: string, detail: string): void => tellWarning(vertices, source, { short, detail });
  const solved = await solveCached(build, chain, {
    progress,
    describe: commandText,
    imports,
    isInline: false,
    beside: [],
    warn,
  }).catch((error: unknown) => {
    throw isEngineError(error) ? failure(error, source, { progress, ...build }) : error;
  });
  const { trees, sources, cache, inlineCache, held } = solved;
  const tree = trees.at(-1);
  const layerIds = layersOfTree(tree);
  const steps = stepsOf(chain, trees);
  const below = layerIds.length - steps.filter(({ hasLayer }) => hasLayer).length;
  const configured = (given: Buffer | undefined): BuiltImage => {
    const image = givenConfig(given, platform, { steps: steps.length, below });
    const config = finishedConfig(image, { steps, diffIds: layers.diffIds(layerIds), inlineCache });
    return {
      id: imageIdOf(config),
      config,
      ...(cache && { cache }),
      tree,
      sources,
      recipe: { target, file: source, baseLayers: baseLayersOf(chain, trees), scanned: new Map() },
      configured,
      epochSeconds: undefined,
      // The trees are held until the build ends.
      [Symbol.dispose]: () => undefined,
    };
  };
  return { ...configured(undefined), [Symbol.dispose]: () => release(held) };
}
