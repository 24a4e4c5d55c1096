import type { Asking } from './filters.ts';
import { Heap } from './heap.ts';
import type { NodeLoad } from './node-load.ts';
import type { NodeTable } from './node-table.ts';
import type { Branch, SpreadTree } from './spread-trees.ts';

/** A group of tasks of one service as far as the choice of nodes goes. */
export interface Choosing {
  service: string;
  /** Where on the ring of nodes this service begins. */
  start: number;
  asking: Asking;
  /** Nodes to take last, with how often the service failed there. */
  penalties: ReadonlyMap<string, number>;
}

/**
 * The nodes that a group may go to, leaf by leaf, the best first: not failed on, fewest tasks of the service, fewest
 * tasks at all, nearest on the ring. Nodes without tasks of the service come from the table's order as they are asked
 * for; the others, which that order does not know apart, from a heap.
 */
export class Candidates {
  readonly #choosing: Choosing;
  readonly #tree: SpreadTree;
  readonly #fresh: Iterator<NodeLoad, void>;
  readonly #queues: { nodes: NodeLoad[]; next: number }[] = [];
  readonly #heaps: Heap<NodeLoad>[] = [];
  readonly #isLess: (a: NodeLoad, b: NodeLoad) => boolean;

  constructor(table: NodeTable, tree: SpreadTree, choosing: Choosing) {
    this.#choosing = choosing;
    this.#tree = tree;
    this.#isLess = (a, b) => this.#compare(a, b) < 0;
    const isOfKind = table.kinds.judge(choosing.asking);
    const isPossible = (node: NodeLoad): boolean => node.takesTasks && isOfKind(node);
    const special = new Set(table.tasksByNode(choosing.service).keys());
    for (const id of choosing.penalties.keys()) {
      const node = table.node(id);
      if (node !== undefined) {
        special.add(node);
      }
    }
    for (const node of special) {
      if (isPossible(node)) {
        this.putBack(node);
      }
    }
    this.#fresh = freshNodes(
      table.order.from(choosing.start),
      (node) => isPossible(node) && !special.has(node),
    );
  }

  /** Takes the best of a leaf out; undefined when none is left. */
  take(leaf: Branch): NodeLoad | undefined {
    const queue = this.#queueOf(leaf);
    const heap = this.#heapOf(leaf);
    const fresh = queue.nodes[queue.next];
    const other = heap.peek();
    if (fresh !== undefined && (other === undefined || this.#isLess(fresh, other))) {
      queue.next += 1;
      return fresh;
    }
    return heap.pop();
  }

  /** After a task has been put on it. */
  putBack(node: NodeLoad): void {
    this.#heapOf(this.#tree.leafOf(node)).push(node);
  }

  #heapOf({ index }: Branch): Heap<NodeLoad> {
    return (this.#heaps[index] ??= new Heap(this.#isLess));
  }

  /** The leaf's queue with at least one node in it, unless there is none any more. */
  #queueOf(leaf: Branch): { nodes: NodeLoad[]; next: number } {
    const queue = (this.#queues[leaf.index] ??= { nodes: [], next: 0 });
    while (queue.next === queue.nodes.length) {
      const { value: node, done } = this.#fresh.next();
      if (done === true || node === undefined) {
        break;
      }
      const { index } = this.#tree.leafOf(node);
      (this.#queues[index] ??= { nodes: [], next: 0 }).nodes.push(node);
    }
    return queue;
  }

  #compare(a: NodeLoad, b: NodeLoad): number {
    const { penalties, asking, start } = this.#choosing;
    return (
      (penalties.get(a.id) ?? 0) - (penalties.get(b.id) ?? 0) ||
      asking.tasksOn(a) - asking.tasksOn(b) ||
      a.total - b.total ||
      ringDistance(start, a) - ringDistance(start, b) ||
      a.index - b.index
    );
  }
}

function* freshNodes(
  order: Iterable<NodeLoad>,
  isWanted: (node: NodeLoad) => boolean,
): Generator<NodeLoad, void> {
  for (const node of order) {
    if (isWanted(node)) {
      yield node;
    }
  }
}

function ringDistance(start: number, { ring }: NodeLoad): number {
  return (ring - start) >>> 0;
}
