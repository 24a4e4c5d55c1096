/**
 * Groups by key that appear with their first member and go with their last. Nearly all of them have one member, which
 * is kept as it is: a set for each slot of thirty thousand would take more memory than the tasks in them.
 */
export class SmallGroups<K, V extends { readonly id: string }> {
  readonly #groups = new Map<K, V | readonly V[]>();

  get size(): number {
    return this.#groups.size;
  }

  /** In the order in which they came; as they are now, whatever comes later. */
  get(key: K): readonly V[] {
    return listOf(this.#groups.get(key));
  }

  keys(): Iterable<K> {
    return this.#groups.keys();
  }

  *values(): Iterable<readonly V[]> {
    for (const group of this.#groups.values()) {
      yield listOf(group);
    }
  }

  *[Symbol.iterator](): Iterator<[K, readonly V[]]> {
    for (const [key, group] of this.#groups) {
      yield [key, listOf(group)];
    }
  }

  /** A member that is there stays where it is. */
  add(key: K, member: V): void {
    const members = this.get(key);
    if (!members.includes(member)) {
      this.#groups.set(key, members.length === 0 ? member : [...members, member]);
    }
  }

  delete(key: K, member: V): void {
    const [first, ...more] = this.get(key).filter((each) => each !== member);
    if (first === undefined) {
      this.#groups.delete(key);
    } else {
      this.#groups.set(key, more.length === 0 ? first : [first, ...more]);
    }
  }
}

function listOf<V extends { readonly id: string }>(group: V | readonly V[] | undefined): readonly V[] {
  if (group === undefined) {
    return [];
  }
  return 'id' in group ? [group] : group;
}
