import { randomBytes } from 'node:crypto';
import type { BuildRecordRow, BuildRecordTable } from '../../../storage/database/rows.ts';
import type { Clock } from '../../base/clock.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { operationKey } from '../graph/key.ts';
import type { Vertex } from '../graph/op.ts';
import type { BuildLayers, PinnedLayers } from '../ports.ts';
import { GIT_KEY, type Checkouts } from './checkouts.ts';
import { BuildTree, layersOfTree } from '../snapshots/tree.ts';
import type { SolverCache } from '../solver/ports.ts';
import { isSource, resultsOf } from '../solver/reads.ts';

export interface RecordsDeps {
  table: BuildRecordTable;
  layers: BuildLayers;
  checkouts: Checkouts;
  clock: Clock;
}

/** The type of records that go with their layers: an image keeps these. */
export const OF_IMAGE = 'image.step';

/** Begins the keys of images: known by their layers, which need no record. */
export const IMAGE_KEY = 'image ';

/**
 * Results of operations, by their keys: rows of the database, each of which keeps its layers. One whose layers are lost
 * is forgotten. Checkouts of repositories are not among them: those are kept for a while.
 */
export class RecordCache implements SolverCache<BuildTree> {
  readonly #deps: RecordsDeps;
  /** Keys by definition of results that are still being made. */
  readonly #pending = new Map<string, Set<string>>();

  constructor(deps: RecordsDeps) {
    this.#deps = deps;
  }

  /** With the results that the taker has beside it: where one of them is gone there is none. */
  find(key: string, taker?: Vertex): Promise<BuildTree | undefined> {
    const tree = this.#find(key, taker);
    for (const number of tree === undefined || taker === undefined ? [] : resultsOf(taker.op)) {
      const result = this.#record(resultKey(key, number), taker);
      if (result === undefined) {
        tree?.[Symbol.dispose]();
        return Promise.resolve(undefined);
      }
      tree?.results.set(number, result);
    }
    return Promise.resolve(tree);
  }

  /** The results beside it first: where a crash comes between, it is made again. */
  store(key: string, tree: BuildTree, vertex: Vertex): Promise<void> {
    for (const [number, result] of tree.results) {
      this.#insert(resultKey(key, number), result, vertex);
    }
    if (vertex.op.kind === 'git') {
      this.#deps.checkouts.keep(key, tree);
    }
    if (!isSource(vertex.op) && tree.content.kind === 'layers') {
      this.#insert(key, tree, vertex);
    }
    return Promise.resolve();
  }

  link(other: string, key: string): void {
    const { table } = this.#deps;
    const before = table.byKey(other);
    if (before !== undefined) {
      table.remove(before.id);
    }
    if (table.byKey(key) !== undefined) {
      table.setContentKey(other, key);
    }
  }

  /** A result that is here, held; nobody has used it by that. */
  peek(key: string): BuildTree | undefined {
    const { layers } = this.#deps;
    const row = this.#rowOf(key);
    const layerIds = row && (row.layerId === null ? [] : layers.chainOf(row.layerId));
    return row && layerIds && treeOf(layers.pin(layerIds), row.createdMs);
  }

  /** What a build elsewhere has made, from then on a result of this engine: made when it was made there. */
  adopt(
    key: string,
    layers: PinnedLayers,
    facts: { createdMs: number; description: string; definitionKeys: readonly string[] },
  ): BuildTree {
    const { table } = this.#deps;
    const tree = treeOf(layers, facts.createdMs);
    try {
      if (table.byKey(key) === undefined) {
        failpoint('build.cache.adopt');
        table.insert(this.#newRow(key, tree, facts));
      }
      facts.definitionKeys.forEach((definitionKey) => table.setContentKey(definitionKey, key));
    } catch (error) {
      tree[Symbol.dispose]();
      throw error;
    }
    return tree;
  }

  findContentKey(definitionKey: string): string | undefined {
    return this.#deps.table.contentKey(definitionKey);
  }

  storeContentKey(definitionKey: string, contentKey: string): void {
    if (this.#deps.table.byKey(contentKey) !== undefined) {
      this.#deps.table.setContentKey(definitionKey, contentKey);
      return;
    }
    if (this.#pending.size >= limits.buildContentKeysPendingMax) {
      this.#pending.clear();
    }
    const known = this.#pending.get(contentKey) ?? new Set();
    this.#pending.set(contentKey, known.add(definitionKey));
  }

  #find(key: string, taker: Vertex | undefined): BuildTree | undefined {
    if (key.startsWith(GIT_KEY)) {
      return this.#deps.checkouts.find(key);
    }
    return key.startsWith(IMAGE_KEY) ? this.#image(key) : this.#record(key, taker);
  }

  #image(key: string): BuildTree | undefined {
    const chainId = key.slice(IMAGE_KEY.length);
    const layerIds = chainId === '' ? [] : this.#deps.layers.chainNamed(chainId);
    return layerIds && treeOf(this.#deps.layers.pin(layerIds));
  }

  #record(key: string, taker: Vertex | undefined): BuildTree | undefined {
    const { table, layers, clock } = this.#deps;
    const row = this.#rowOf(key);
    if (row === undefined) {
      return undefined;
    }
    const layerIds = row.layerId === null ? [] : layers.chainOf(row.layerId);
    if (layerIds === undefined) {
      table.remove(row.id);
      return undefined;
    }
    if (row.type === OF_IMAGE && taker !== undefined && taker.record === undefined) {
      // No image need keep it any more.
      table.setType(row.id, 'regular');
    }
    table.use(row.id, nowMs(clock));
    return treeOf(layers.pin(layerIds), row.createdMs);
  }

  /** Under its own key, or one that leads to it. */
  #rowOf(key: string): BuildRecordRow | undefined {
    const { table } = this.#deps;
    const leadsTo = (): string | undefined => table.contentKey(key);
    return table.byKey(key) ?? table.byKey(leadsTo() ?? '');
  }

  #insert(key: string, tree: BuildTree, vertex: Vertex): void {
    const { table, clock } = this.#deps;
    const before = this.#rowOf(key);
    const type = vertex.record === 'ofImage' ? OF_IMAGE : 'regular';
    const layerId = layersOfTree(tree).at(-1);
    // A step that brought no layer of its own has nothing that its record could go with.
    const isOwn = layerId !== undefined && (before?.layerId === layerId || !this.#isKnown(layerId));
    if (before !== undefined) {
      // It was made anew, on purpose.
      table.remove(before.id);
    }
    tree.createdMs ??= nowMs(clock);
    if (type === OF_IMAGE && !isOwn) {
      return;
    }
    failpoint('build.cache.store');
    const facts = { type, createdMs: tree.createdMs, description: vertex.name };
    table.insert(this.#newRow(key, tree, facts));
    this.#pending.get(key)?.forEach((definitionKey) => table.setContentKey(definitionKey, key));
    this.#pending.delete(key);
  }

  #newRow(
    key: string,
    tree: BuildTree,
    { type = 'regular', createdMs, description }: { type?: string; createdMs: number; description: string },
  ): BuildRecordRow {
    const { layers, clock } = this.#deps;
    const layerId = layersOfTree(tree).at(-1) ?? null;
    return {
      id: randomBytes(16).toString('hex'),
      key,
      type,
      layerId,
      // One that added nothing stands on the layer of another, which counts it.
      sizeBytes: layerId === null || this.#isKnown(layerId) ? 0 : layers.bytes([layerId]),
      createdMs,
      lastUsedMs: nowMs(clock),
      usageCount: 1,
      description: description.slice(0, limits.buildDescriptionMax),
    };
  }

  #isKnown(layerId: number): boolean {
    return this.#deps.table.hasLayer(layerId) || this.#deps.layers.users(layerId) > 0;
  }
}

/** That of the vertex that takes the result: `MountResult`. */
export function resultKey(key: string, number: number): string {
  return operationKey({ kind: 'result', number }, [key]);
}

export function treeOf({ layerIds, pin }: PinnedLayers, createdMs?: number): BuildTree {
  const tree = new BuildTree({ kind: 'layers', layerIds }, () => pin[Symbol.dispose]());
  tree.createdMs = createdMs;
  return tree;
}

export function nowMs(clock: Clock): number {
  return Number(clock.nowNano() / 1_000_000n);
}
