import type { Demand } from '../placement/demand.ts';
import { FitMemory } from './fit-memory.ts';
import type { Asking } from './filters.ts';
import { seededHash } from './hash.ts';
import { LoadOrder } from './load-order.ts';
import { NodeLoad, type Holding, type NodeFacts } from './node-load.ts';
import { SpreadTrees } from './spread-trees.ts';

/**
 * All nodes with what their tasks hold, kept between passes and brought up to date change by change. What is derived
 * from several nodes (the order by load, which nodes fit a template, trees of labels) hangs on it.
 */
export class NodeTable {
  readonly seed: number;
  readonly order = new LoadOrder();
  readonly kinds = new FitMemory();
  readonly trees = new SpreadTrees();
  /** Grows when a refused task might fit now: a node is new or changed, or something was given back. */
  roomMade = 0;
  readonly #nodes = new Map<string, NodeLoad>();
  /** Places of nodes that were removed, for the next ones. */
  readonly #freeIndices: number[] = [];
  #indicesGiven = 0;
  /** Holdings by task; those of nodes that are not known wait for them here. */
  readonly #holdings = new Map<string, Holding>();
  readonly #orphans = new Map<string, Set<Holding>>();
  /** Tasks that count, by service and node. */
  readonly #counts = new Map<string, Map<NodeLoad, number>>();
  /** Nodes whose place in the order is older than their total. */
  readonly #unsettled = new Set<NodeLoad>();

  constructor(seed: number) {
    this.seed = seed;
  }

  get nodes(): Iterable<NodeLoad> {
    return this.#nodes.values();
  }

  node(id: string): NodeLoad | undefined {
    return this.#nodes.get(id);
  }

  setNode(facts: NodeFacts): void {
    this.roomMade += 1;
    const { id } = facts.traits;
    const known = this.#nodes.get(id);
    if (known !== undefined) {
      known.update(facts);
      this.kinds.forget(known);
      this.trees.changed(known);
      return;
    }
    const index = this.#freeIndices.pop() ?? this.#indicesGiven++;
    const node = new NodeLoad({ index, ring: seededHash(this.seed, id) }, facts);
    this.#nodes.set(id, node);
    for (const holding of this.#orphans.get(id) ?? []) {
      this.#put(node, holding);
    }
    this.#orphans.delete(id);
    this.order.add(node);
    this.trees.added(node);
  }

  removeNode(id: string): void {
    const node = this.#nodes.get(id);
    if (node === undefined) {
      return;
    }
    for (const holding of node.holdings) {
      this.#count(node, holding, -1);
    }
    this.#unsettled.delete(node);
    this.#nodes.delete(id);
    this.order.remove(node);
    this.kinds.forget(node);
    this.trees.removed(node);
    this.#freeIndices.push(node.index);
    if (node.holdings.size > 0) {
      this.#orphans.set(id, new Set(node.holdings));
    }
  }

  /** What a task holds, and where. */
  holdingOf(task: string): Holding | undefined {
    return this.#holdings.get(task);
  }

  /** Also on a node that is not known (yet): it counts from when the node is. */
  hold(holding: Holding): void {
    this.#holdings.set(holding.task, holding);
    const node = this.#nodes.get(holding.node);
    if (node === undefined) {
      const orphans = this.#orphans.get(holding.node) ?? new Set();
      this.#orphans.set(holding.node, orphans.add(holding));
      return;
    }
    this.#put(node, holding);
    this.#unsettled.add(node);
  }

  release(task: string): void {
    const holding = this.#holdings.get(task);
    if (holding === undefined) {
      return;
    }
    this.#holdings.delete(task);
    this.roomMade += 1;
    const node = this.#nodes.get(holding.node);
    if (node === undefined) {
      const orphans = this.#orphans.get(holding.node);
      if (orphans?.delete(holding) === true && orphans.size === 0) {
        this.#orphans.delete(holding.node);
      }
      return;
    }
    node.release(holding);
    this.#count(node, holding, -1);
    this.#unsettled.add(node);
  }

  /** Brings the order of nodes up to date: after changes, and between groups. */
  settle(): void {
    for (const node of this.#unsettled) {
      this.order.move(node);
    }
    this.#unsettled.clear();
  }

  /** Tasks of a service that count, by node; only nodes with some. */
  tasksByNode(service: string): ReadonlyMap<NodeLoad, number> {
    return this.#counts.get(service) ?? NO_TASKS;
  }

  asking(service: string, demand: Demand): Asking {
    return { demand, tasksOn: (node) => this.#counts.get(service)?.get(node) ?? 0 };
  }

  #put(node: NodeLoad, holding: Holding): void {
    node.hold(holding);
    this.#count(node, holding, 1);
  }

  #count(node: NodeLoad, { service, counts }: Holding, by: 1 | -1): void {
    if (!counts) {
      return;
    }
    node.total += by;
    const byNode = this.#counts.get(service) ?? new Map<NodeLoad, number>();
    const count = (byNode.get(node) ?? 0) + by;
    if (count > 0) {
      byNode.set(node, count);
    } else {
      byNode.delete(node);
    }
    if (byNode.size > 0) {
      this.#counts.set(service, byNode);
    } else {
      this.#counts.delete(service);
    }
  }
}

const NO_TASKS: ReadonlyMap<NodeLoad, number> = new Map();
