import { limits } from '../../../daemon/base/limits.ts';
import { labelValue } from '../placement/constraint.ts';
import type { NodeLoad } from './node-load.ts';

/** A part of the nodes: those that have the same values of the labels from the root to here. */
export interface Branch {
  /** Unique in its tree: a place in arrays about all branches. */
  readonly index: number;
  readonly parent: Branch | undefined;
  /** By value of the next label, in the order of values; empty at a leaf. */
  readonly children: readonly Branch[];
}

/** Nodes as branches of label values. Nodes that take no tasks too: what runs there counts when tasks are spread. */
export interface SpreadTree {
  readonly root: Branch;
  readonly size: number;
  /** The leaf that a node is on. */
  leafOf(node: NodeLoad): Branch;
}

/** Trees by the labels that they branch by, kept until a node comes, goes or changes a label that matters. */
export class SpreadTrees {
  readonly #nodes = new Set<NodeLoad>();
  readonly #trees = new Map<string, { keys: readonly string[]; tree: SpreadTree; paths: string[] }>();

  /** Keys that name no label are passed over, as swarmkit does. */
  of(spread: readonly string[]): SpreadTree {
    const id = JSON.stringify(spread);
    const known = this.#trees.get(id);
    this.#trees.delete(id);
    const entry = known ?? grow(spread, this.#nodes);
    this.#trees.set(id, entry);
    if (this.#trees.size > limits.swarmSpreadTreesKept) {
      this.#trees.delete(this.#trees.keys().next().value ?? id);
    }
    return entry.tree;
  }

  added(node: NodeLoad): void {
    this.#nodes.add(node);
    this.#trees.clear();
  }

  removed(node: NodeLoad): void {
    this.#nodes.delete(node);
    this.#trees.clear();
  }

  changed(node: NodeLoad): void {
    for (const [id, { keys, paths }] of this.#trees) {
      if (paths[node.index] !== pathOf(node, keys).join('\0')) {
        this.#trees.delete(id);
      }
    }
  }
}

function pathOf(node: NodeLoad, keys: readonly string[]): string[] {
  return keys.flatMap((key) => labelValue(key, node.traits) ?? []);
}

interface Growing extends Branch {
  readonly byValue: Map<string, Growing>;
  children: readonly Branch[];
}

function grow(
  keys: readonly string[],
  nodes: Iterable<NodeLoad>,
): { keys: readonly string[]; tree: SpreadTree; paths: string[] } {
  const branches: Growing[] = [];
  const sprout = (parent: Growing | undefined): Growing => {
    const branch = { index: branches.length, parent, children: [], byValue: new Map() };
    branches.push(branch);
    return branch;
  };
  const root = sprout(undefined);
  const leaves: Branch[] = [];
  const paths: string[] = [];
  for (const node of nodes) {
    const path = pathOf(node, keys);
    let branch = root;
    for (const value of path) {
      const next = branch.byValue.get(value) ?? sprout(branch);
      branch.byValue.set(value, next);
      branch = next;
    }
    leaves[node.index] = branch;
    paths[node.index] = path.join('\0');
  }
  for (const branch of branches) {
    branch.children = [...branch.byValue].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, child]) => child);
  }
  const tree = { root, size: branches.length, leafOf: (node: NodeLoad) => leaves[node.index] ?? root };
  return { keys, tree, paths };
}
