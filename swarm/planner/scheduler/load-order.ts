import type { NodeLoad } from './node-load.ts';

/**
 * Nodes by the number of their tasks, kept between passes so that a small service costs what its tasks cost and not
 * what the nodes cost. Nodes with as many tasks stand on a ring by a hash of their id; a service begins at the hash of
 * its own id, so ties are broken by (service, node) and services do not all begin with the same node.
 */
export class LoadOrder {
  /** By number of tasks, each in the order of the ring. */
  readonly #levels: NodeLoad[][] = [];

  add(node: NodeLoad): void {
    node.level = node.total;
    const level = this.#level(node.level);
    level.splice(placeOf(level, node.ring, node.index), 0, node);
  }

  remove(node: NodeLoad): void {
    const level = this.#level(node.level);
    const place = placeOf(level, node.ring, node.index);
    if (level[place] === node) {
      level.splice(place, 1);
    }
  }

  /** After the node's `total` has changed. */
  move(node: NodeLoad): void {
    if (node.level !== node.total) {
      this.remove(node);
      this.add(node);
    }
  }

  #level(tasks: number): NodeLoad[] {
    while (this.#levels.length <= tasks) {
      this.#levels.push([]);
    }
    return this.#levels[tasks] ?? [];
  }

  /**
   * Nodes with the fewest tasks first, ties from `start` on around the ring. Only true while nothing is added, removed
   * or moved.
   */
  *from(start: number): Generator<NodeLoad, void> {
    for (const level of this.#levels) {
      const first = placeOf(level, start, -1);
      for (let step = 0; step < level.length; step += 1) {
        const node = level[(first + step) % level.length];
        if (node !== undefined) {
          yield node;
        }
      }
    }
  }
}

/** The place of the first node at or after (ring, index). */
function placeOf(level: readonly NodeLoad[], ring: number, index: number): number {
  let low = 0;
  let high = level.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const node = level[middle];
    if (node !== undefined && (node.ring < ring || (node.ring === ring && node.index < index))) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
