import type { Vertex } from '../../graph/op.ts';
import { layersOfTree, type BuildTree } from '../../snapshots/tree.ts';
import type { VertexKeys } from '../../solver/ports.ts';
import type { RecordCache } from '../records.ts';
import type { CacheDocument, CachedResult, RemoteLayer } from './document.ts';
import type { CacheImports } from './imports.ts';

/** What one build has come by, for a cache elsewhere. */
export class Gathered {
  readonly #keys = new Map<string, Set<string>>();

  /** Of the solver. What no other build can come to is left out. */
  readonly keyed = (_vertex: Vertex, { key, definitionKey, isLasting }: VertexKeys): void => {
    if (isLasting) {
      const definitionKeys = this.#keys.get(key) ?? new Set<string>();
      this.#keys.set(key, definitionKeys);
      if (definitionKey !== undefined && definitionKey !== key) {
        definitionKeys.add(definitionKey);
      }
    }
  };

  /**
   * Its results that are here, held until they are disposed of; and those that it has not needed, as the caches that it
   * looked into have them.
   */
  hold(records: Pick<RecordCache, 'peek'>, imports?: Pick<CacheImports, 'resultOf'>): HeldResults {
    const trees = [...this.#keys.keys()].flatMap((key) => {
      const tree = records.peek(key);
      return tree === undefined ? [] : [{ key, tree }];
    });
    const contentKeys = new Map(
      [...this.#keys].flatMap(([key, all]) => [...all].map((definitionKey) => [definitionKey, key] as const)),
    );
    const here = new Set(trees.map(({ key }) => key));
    const elsewhere = [...this.#keys.keys()].flatMap((key) =>
      here.has(key) ? [] : (imports?.resultOf(key) ?? []),
    );
    return new HeldResults(trees, contentKeys, elsewhere);
  }
}

/** Results of a build whose layers nothing removes meanwhile. */
export class HeldResults implements Disposable {
  readonly #trees: readonly { key: string; tree: BuildTree }[];
  readonly #contentKeys: ReadonlyMap<string, string>;
  readonly elsewhere: readonly CachedResult<RemoteLayer>[];

  constructor(
    trees: readonly { key: string; tree: BuildTree }[],
    contentKeys: ReadonlyMap<string, string>,
    elsewhere: readonly CachedResult<RemoteLayer>[],
  ) {
    this.#trees = trees;
    this.#contentKeys = contentKeys;
    this.elsewhere = elsewhere;
  }

  /** With layers by their ids. */
  get document(): CacheDocument<number> {
    const results = this.#trees.map(({ key, tree }): CachedResult<number> => ({
      key,
      layers: layersOfTree(tree),
      createdMs: tree.createdMs ?? 0,
    }));
    return { results, contentKeys: this.#contentKeys };
  }

  [Symbol.dispose](): void {
    this.#trees.forEach(({ tree }) => tree[Symbol.dispose]());
  }
}

/** Results all of whose layers are among these: `mode=min`. Pure. */
export function within<Layer>(
  { results, contentKeys }: CacheDocument<Layer>,
  layers: readonly Layer[],
): CacheDocument<Layer> {
  const known = new Set(layers);
  return {
    results: results.filter((result) => result.layers.every((layer) => known.has(layer))),
    contentKeys,
  };
}

/** The same results with other names of their layers. Pure. */
export function mapLayers<From, To>(
  { results, contentKeys }: CacheDocument<From>,
  to: (layer: From) => To,
): CacheDocument<To> {
  return { results: results.map((result) => ({ ...result, layers: result.layers.map(to) })), contentKeys };
}
