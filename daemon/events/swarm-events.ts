import type { StringMap } from '../../api/types/maps.ts';
import type { Database } from '../../storage/database/rows.ts';
import type { Journal } from './journal-types.ts';

/** An event of a swarm's object, as a manager tells it. */
interface SwarmEvent {
  type: 'node' | 'service' | 'secret' | 'config';
  action: string;
  id: string;
  attributes: StringMap;
  /** Milliseconds since 1970 UTC. */
  at: number;
}

const KEY = 'swarmEvents';
const NANOS_PER_MS = 1_000_000n;

/**
 * Events of the swarm in the engine's log, with the place up to which they have been noted: a manager that was away
 * tells the rest when it is back. Both are written together.
 */
export class SwarmEventLog {
  readonly #database: Pick<Database, 'meta'>;
  readonly #journal: Pick<Journal, 'note'>;

  constructor(deps: { database: Pick<Database, 'meta'>; journal: Pick<Journal, 'note'> }) {
    this.#database = deps.database;
    this.#journal = deps.journal;
  }

  /** A revision of the store of this swarm; undefined where none of its events has been noted. */
  notedUpTo(cluster: string): number | undefined {
    const [of, revision] = (this.#database.meta.get(KEY) ?? '').split(' ');
    return of === cluster ? Number(revision) : undefined;
  }

  note(cluster: string, events: readonly SwarmEvent[], revision: number): void {
    this.#journal.note(
      events.map(({ type, action, id, attributes, at }) => ({
        type,
        action,
        actorId: id,
        attributes,
        timeNano: BigInt(at) * NANOS_PER_MS,
      })),
      { key: KEY, write: () => this.#database.meta.set(KEY, `${cluster} ${revision}`) },
    );
  }
}
