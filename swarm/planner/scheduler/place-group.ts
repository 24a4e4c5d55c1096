import { Candidates, type Choosing } from './candidates.ts';
import { hasRoom } from './filters.ts';
import type { NodeLoad } from './node-load.ts';
import type { NodeTable } from './node-table.ts';
import type { Branch, SpreadTree } from './spread-trees.ts';

/**
 * Nodes for tasks of one group, one after another: the branch of the spread tree with the fewest tasks, and in it the
 * best candidate. `place` has to hold what the task takes in the table before the next node is asked for.
 *
 * @returns How many tasks found a node; the others do not fit anywhere.
 */
export function placeGroup(
  table: NodeTable,
  choosing: Choosing,
  group: { tasks: number; spread: readonly string[]; place(task: number, node: NodeLoad): void },
): number {
  table.settle();
  const tree = table.trees.of(group.spread);
  const spreading = new Spreading(table, tree, choosing);
  let placed = 0;
  while (placed < group.tasks) {
    const node = spreading.next(tree.root);
    if (node === undefined) {
      break;
    }
    group.place(placed, node);
    spreading.placed(node);
    placed += 1;
  }
  table.settle();
  return placed;
}

class Spreading {
  readonly #tree: SpreadTree;
  readonly #choosing: Choosing;
  readonly #candidates: Candidates;
  /** Tasks of the service by branch, those that were there before too. */
  readonly #tasks: number[];
  readonly #full: boolean[] = [];

  constructor(table: NodeTable, tree: SpreadTree, choosing: Choosing) {
    this.#tree = tree;
    this.#choosing = choosing;
    this.#candidates = new Candidates(table, tree, choosing);
    this.#tasks = Array.from({ length: tree.size }, () => 0);
    for (const [node, count] of table.tasksByNode(choosing.service)) {
      this.#count(node, count);
    }
  }

  /** The node for the next task of this branch; undefined when the branch is full. */
  next(branch: Branch): NodeLoad | undefined {
    if (branch.children.length === 0) {
      return this.#nextOfLeaf(branch);
    }
    for (;;) {
      const child = this.#emptiestChild(branch);
      if (child === undefined) {
        return undefined;
      }
      const node = this.next(child);
      if (node !== undefined) {
        return node;
      }
      this.#full[child.index] = true;
    }
  }

  placed(node: NodeLoad): void {
    this.#count(node, 1);
    this.#candidates.putBack(node);
  }

  #nextOfLeaf(leaf: Branch): NodeLoad | undefined {
    for (;;) {
      const node = this.#candidates.take(leaf);
      // What does not fit now does not fit later either: within a group nothing is given back.
      if (node === undefined || hasRoom(node, this.#choosing.asking)) {
        return node;
      }
    }
  }

  /** Among branches with as few tasks the service's place on the ring decides, so that not all services favour one. */
  #emptiestChild({ children }: Branch): Branch | undefined {
    let emptiest: Branch | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (let step = 0; step < children.length; step += 1) {
      const child = children[(this.#choosing.start + step) % children.length];
      const tasks =
        child === undefined || this.#full[child.index] === true ? undefined : this.#tasks[child.index];
      if (child !== undefined && tasks !== undefined && tasks < fewest) {
        emptiest = child;
        fewest = tasks;
      }
    }
    return emptiest;
  }

  #count(node: NodeLoad, by: number): void {
    for (let branch: Branch | undefined = this.#tree.leafOf(node); branch; branch = branch.parent) {
      this.#tasks[branch.index] = (this.#tasks[branch.index] ?? 0) + by;
    }
  }
}
