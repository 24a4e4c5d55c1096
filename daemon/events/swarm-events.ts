import type { StringMap } from '../../api/types/maps.ts';
import type { Database } from '../../storage/database/rows.ts';
import type { Journal } from './journal-types.ts';

/** An object of a swarm that has events. */
interface SwarmObject {
  type: 'node' | 'service' | 'network' | 'secret' | 'config';
  id: string;
  name: string;
}

/** An event of a swarm's object, as a manager tells it. */
interface SwarmEvent extends Pick<SwarmObject, 'type' | 'id'> {
  action: string;
  /** Among them `name`. */
  attributes: StringMap;
  /** Milliseconds since 1970 UTC. */
  at: number;
}

const KEY = 'swarmEvents';
const NANOS_PER_MS = 1_000_000n;

type Tables = Pick<Database, 'meta' | 'swarmObjects'>;

/**
 * Events of the swarm in the engine's log, with the place up to which they have been noted and the objects that were
 * there: a manager that was away tells the rest when it is back. All of it is written together.
 */
export class SwarmEventLog {
  readonly #database: Tables;
  readonly #journal: Pick<Journal, 'note'>;
  readonly #objects = new Map<string, SwarmObject>();
  #place: { cluster: string; revision: number } | undefined;
  /** Objects whose rows are behind what is known here: a disk may have refused them. */
  readonly #behind = new Map<string, Pick<SwarmObject, 'type' | 'id'>>();

  constructor(deps: { database: Tables; journal: Pick<Journal, 'note'> }) {
    this.#database = deps.database;
    this.#journal = deps.journal;
    const [cluster = '', revision] = (this.#database.meta.get(KEY) ?? '').split(' ');
    if (revision !== undefined) {
      this.#place = { cluster, revision: Number(revision) };
    }
    for (const { type, id, name } of this.#database.swarmObjects.all()) {
      // Written by `#write`.
      this.#objects.set(keyOf({ type, id }), { type: type as SwarmObject['type'], id, name });
    }
  }

  /** A revision of the store of this swarm and what was there; undefined where none of its events has been noted. */
  noted(cluster: string): { revision: number; objects: readonly SwarmObject[] } | undefined {
    return this.#place?.cluster === cluster
      ? { revision: this.#place.revision, objects: [...this.#objects.values()] }
      : undefined;
  }

  note(
    cluster: string,
    events: readonly SwarmEvent[],
    { revision, there = [] }: { revision: number; there?: readonly SwarmObject[] },
  ): void {
    if (this.#place?.cluster !== cluster) {
      for (const object of this.#objects.values()) {
        this.#forget(object);
      }
    }
    this.#place = { cluster, revision };
    for (const { type, id, action, attributes } of events) {
      if (action === 'remove') {
        this.#forget({ type, id });
      } else {
        this.#keep({ type, id, name: attributes['name'] ?? '' });
      }
    }
    there.forEach((object) => this.#keep(object));
    this.#journal.note(
      events.map(({ type, action, id, attributes, at }) => ({
        type,
        action,
        actorId: id,
        attributes,
        timeNano: BigInt(at) * NANOS_PER_MS,
      })),
      { key: KEY, write: () => this.#write(), stored: () => this.#behind.clear() },
    );
  }

  #keep(object: SwarmObject): void {
    const key = keyOf(object);
    if (this.#objects.get(key)?.name !== object.name) {
      this.#objects.set(key, object);
      this.#behind.set(key, object);
    }
  }

  #forget({ type, id }: Pick<SwarmObject, 'type' | 'id'>): void {
    const key = keyOf({ type, id });
    if (this.#objects.delete(key)) {
      this.#behind.set(key, { type, id });
    }
  }

  #write(): void {
    const { meta, swarmObjects } = this.#database;
    for (const [key, gone] of this.#behind) {
      const object = this.#objects.get(key);
      if (object === undefined) {
        swarmObjects.remove(gone);
      } else {
        swarmObjects.put(object);
      }
    }
    meta.set(KEY, `${this.#place?.cluster} ${this.#place?.revision}`);
  }
}

function keyOf({ type, id }: { type: string; id: string }): string {
  return `${type} ${id}`;
}
