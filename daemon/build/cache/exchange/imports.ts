import { errorText } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import type { Vertex } from '../../graph/op.ts';
import type { BuildTree } from '../../snapshots/tree.ts';
import type { RunContext, SolverImports } from '../../solver/ports.ts';
import type { RecordCache } from '../records.ts';
import type { CacheDocument, CachedResult, RemoteLayer } from './document.ts';
import type { CacheLayers, CacheSource } from './ports.ts';

/** A cache whose document is here. Its layers are where they are. */
export interface ReadCache {
  name: string;
  source: Pick<CacheSource, 'layer'>;
  document: CacheDocument<RemoteLayer>;
}

export interface ImportsDeps {
  records: Pick<RecordCache, 'adopt'>;
  layers: Pick<CacheLayers, 'receive'>;
  /** A cache whose layers cannot be had. */
  warn(text: string): void;
}

/** Caches elsewhere, for one build: of the same result the first that has it is taken. */
export class CacheImports implements SolverImports<BuildTree> {
  readonly #deps: ImportsDeps;
  readonly #results = new Map<string, { result: CachedResult<RemoteLayer>; cache: ReadCache }>();
  readonly #contentKeys = new Map<string, string>();
  readonly #broken = new Set<ReadCache>();

  constructor(caches: readonly ReadCache[], deps: ImportsDeps) {
    this.#deps = deps;
    for (const cache of caches) {
      for (const result of cache.document.results) {
        if (!this.#results.has(result.key)) {
          this.#results.set(result.key, { result, cache });
        }
      }
      for (const [definitionKey, key] of cache.document.contentKeys) {
        if (!this.#contentKeys.has(definitionKey)) {
          this.#contentKeys.set(definitionKey, key);
        }
      }
    }
  }

  findContentKey(definitionKey: string): string | undefined {
    return this.#contentKeys.get(definitionKey);
  }

  /** What a cache says of a key, wherever its layers are. */
  resultOf(key: string): CachedResult<RemoteLayer> | undefined {
    return this.#results.get(key)?.result;
  }

  /** What cannot be had is made here instead, and the client is told. */
  async find(key: string, { name }: Vertex, { signal }: RunContext): Promise<BuildTree | undefined> {
    const found = this.#results.get(key);
    if (found === undefined || this.#broken.has(found.cache)) {
      return undefined;
    }
    const { result, cache } = found;
    const definitionKeys = [...this.#contentKeys].flatMap(([from, to]) => (to === key ? [from] : []));
    try {
      const layers = await this.#deps.layers.receive(result.layers, cache.source, signal);
      failpoint('build.cache.import');
      return this.#deps.records.adopt(key, layers, {
        createdMs: result.createdMs,
        description: name,
        definitionKeys,
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#broken.has(cache)) {
        this.#broken.add(cache);
        this.#deps.warn(`${cache.name}: ${errorText(error)}`);
      }
      return undefined;
    }
  }
}
