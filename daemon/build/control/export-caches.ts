import type { BuildSession } from '../../../api/types/build/session.ts';
import { clientTarget } from '../cache/exchange/client-cache.ts';
import { within } from '../cache/exchange/gathered.ts';
import type { CacheLayers, CacheTarget } from '../cache/exchange/ports.ts';
import { writeCache } from '../cache/exchange/write-cache.ts';
import type { BuildLayers, BuiltCache } from '../ports.ts';
import type { CacheExport } from './cache-options.ts';
import { registryOptions } from './import-caches.ts';
import type { Vertices } from './vertices.ts';

interface Exporting {
  caches: CacheLayers;
  layers: Pick<BuildLayers, 'diffIds'>;
  session: BuildSession;
  vertices: Vertices;
  signal: AbortSignal;
}

type Written = Exclude<CacheExport, { type: 'inline' }>;

/**
 * Writes the cache of a build where it was asked for; one within the image is there already. Answers what the client is
 * told: it keeps the manifest of a directory under its own name. Throws what the first that matters throws.
 */
export async function exportCaches(
  build: Exporting,
  { document, elsewhere, imageLayers }: BuiltCache,
  asked: readonly CacheExport[],
): Promise<ReadonlyMap<string, string>> {
  const told = new Map<string, string>();
  for (const one of asked) {
    if (one.type === 'inline') {
      continue;
    }
    const wanted = one.mode === 'max' ? document : within(document, imageLayers);
    try {
      const manifest = await build.vertices.run(`exporting cache to ${nameOf(one)}`, async (vertex) => {
        using target = await openTarget(build, one);
        return await writeCache(target, wanted, {
          isImage: one.isImage,
          // The stages that a cache saved are not lost to the next build.
          elsewhere: one.mode === 'max' ? elsewhere : [],
          diffId: (layerId) => build.layers.diffIds([layerId])[0] ?? '',
          told: (step) => vertex.progress(step, { isLast: true }),
          signal: build.signal,
        });
      });
      told.set('cache.manifest', JSON.stringify(manifest));
    } catch (error) {
      build.signal.throwIfAborted();
      // Its vertex has told of it.
      if (!one.ignoresErrors) {
        throw error;
      }
    }
  }
  return told;
}

async function openTarget(build: Exporting, asked: Written): Promise<CacheTarget> {
  return asked.type === 'registry'
    ? await build.caches.registryTarget(asked.reference, registryOptions(build))
    : clientTarget(build.session.content(`local:${asked.directory}`), build.caches);
}

function nameOf(asked: Written): string {
  return asked.type === 'registry' ? `registry ${asked.reference}` : 'client directory';
}
