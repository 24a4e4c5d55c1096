import type { GenericResource } from '../../../api/types/swarm/task.ts';

/** So many of a kind, as a task reserves them: at least one, each kind once. */
export interface GenericWish {
  kind: string;
  count: number;
}

/** What is left of one kind. The first entry of a kind says which sort it is; others of another sort are no supply. */
type Shelf = { count: number } | { names: string[] };

/**
 * Generic resources of one node: kinds that its operator named (`gpu`), counted (discrete) or told apart (named). A
 * task asks for a number of a kind and is given that number, or so many names.
 */
export class GenericSupply {
  readonly #shelves = new Map<string, Shelf>();

  /** All that the node described. */
  constructor(described: readonly GenericResource[]) {
    for (const resource of described) {
      this.#stock(resource);
    }
  }

  #stock({ NamedResourceSpec: named, DiscreteResourceSpec: discrete }: GenericResource): void {
    if (named !== undefined) {
      const shelf = this.#shelves.get(named.Kind);
      if (shelf === undefined) {
        this.#shelves.set(named.Kind, { names: [named.Value] });
      } else if ('names' in shelf && !shelf.names.includes(named.Value)) {
        shelf.names.push(named.Value);
      }
    } else if (discrete !== undefined && !this.#shelves.has(discrete.Kind)) {
      this.#shelves.set(discrete.Kind, { count: discrete.Value });
    }
  }

  hasEnough(wishes: readonly GenericWish[]): boolean {
    return wishes.every(({ kind, count }) => count <= this.#left(kind));
  }

  #left(kind: string): number {
    const shelf = this.#shelves.get(kind);
    if (shelf === undefined) {
      return 0;
    }
    return 'names' in shelf ? shelf.names.length : shelf.count;
  }

  /** What a task with these wishes would be given, names in their order; undefined when it is not all there. */
  choose(wishes: readonly GenericWish[]): GenericResource[] | undefined {
    return this.hasEnough(wishes) ? wishes.flatMap((wish) => this.#pick(wish)) : undefined;
  }

  #pick({ kind, count }: GenericWish): GenericResource[] {
    const shelf = this.#shelves.get(kind);
    return shelf !== undefined && 'names' in shelf
      ? shelf.names.slice(0, count).map((Value) => ({ NamedResourceSpec: { Kind: kind, Value } }))
      : [{ DiscreteResourceSpec: { Kind: kind, Value: count } }];
  }

  /** Whether all that a task was given before is there. */
  holds(assigned: readonly GenericResource[]): boolean {
    return assigned.every(({ NamedResourceSpec: named, DiscreteResourceSpec: discrete }) => {
      const shelf = this.#shelves.get(named?.Kind ?? discrete?.Kind ?? '');
      return shelf !== undefined && 'names' in shelf
        ? named !== undefined && shelf.names.includes(named.Value)
        : discrete !== undefined && (shelf?.count ?? 0) >= discrete.Value;
    });
  }

  /**
   * Takes what a task was given before. False when it was not all there: the node's operator has taken it away. A
   * count may go below zero then, so that nothing more is given until as much is back.
   */
  take(assigned: readonly GenericResource[]): boolean {
    return assigned.map((resource) => this.#takeOne(resource)).every(Boolean);
  }

  #takeOne({ NamedResourceSpec: named, DiscreteResourceSpec: discrete }: GenericResource): boolean {
    const shelf = this.#shelves.get(named?.Kind ?? discrete?.Kind ?? '');
    if (shelf === undefined) {
      return false;
    }
    if ('names' in shelf) {
      const place = named === undefined ? -1 : shelf.names.indexOf(named.Value);
      return place >= 0 && shelf.names.splice(place, 1).length === 1;
    }
    shelf.count -= discrete?.Value ?? 0;
    return discrete !== undefined && shelf.count >= 0;
  }
}
