import { setImmediate } from 'node:timers/promises';
import { conflict } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import { readRevision, writeRevision, type EventDatabase } from './local-rows.ts';
import type {
  AppliedChange,
  AppliedPut,
  EventStorage,
  StorageChange,
  StorageListener,
  StoredState,
} from './port.ts';

/**
 * {@link EventStorage} in the database of this host: many changes are one transaction, which all see at once, and are
 * answered when it is on the disk.
 */
export class LocalEvents implements EventStorage {
  readonly commitsMax = limits.clusterLocalCommitsMax;
  readonly changesMax = limits.clusterLocalChangesMax;
  readonly #database: EventDatabase;
  /** By key. */
  readonly #revisions = new Map<string, number>();
  #listener: StorageListener | undefined;
  #revision: number;

  constructor(database: EventDatabase) {
    this.#database = database;
    this.#revision = readRevision(database);
  }

  async open(listener: StorageListener): Promise<StoredState> {
    const events: AppliedPut[] = [];
    for (let after = ''; ;) {
      const rows = this.#database.clusterEvents.after(after, limits.clusterEventsReadAtOnce);
      const last = rows.at(-1);
      if (last === undefined) {
        break;
      }
      for (const row of rows) {
        this.#revisions.set(row.key, row.revision);
        events.push({ kind: 'put', ...row });
      }
      after = last.key;
      await setImmediate();
    }
    this.#listener = listener;
    return { events, revision: this.#revision };
  }

  /** The transaction is made before this returns. */
  async commit(changes: readonly StorageChange[]): Promise<void> {
    failpoint('cluster.events.commit');
    const applied = this.#database.transaction(() => this.#write(changes));
    for (const change of applied) {
      if (change.kind === 'put') {
        this.#revisions.set(change.key, change.revision);
      } else {
        this.#revisions.delete(change.key);
      }
    }
    this.#revision += applied.length;
    failpoint('cluster.events.committed');
    this.#listener?.onChanges(applied);
    await this.#database.synced();
  }

  [Symbol.dispose](): void {
    this.#listener = undefined;
  }

  #write(changes: readonly StorageChange[]): AppliedChange[] {
    const { clusterEvents } = this.#database;
    const applied: AppliedChange[] = [];
    for (const change of changes) {
      const { key, expected } = change;
      const found = this.#revisions.get(key);
      if (expected !== undefined && (found ?? 0) !== expected) {
        throw conflict(`cluster event ${key} was changed meanwhile`);
      }
      const revision = this.#revision + applied.length + 1;
      if (change.kind === 'put') {
        const { body, facts } = change;
        clusterEvents.put({ key, body, revision });
        applied.push({ kind: 'put', key, body, revision, facts });
      } else if (found !== undefined) {
        clusterEvents.remove(key);
        applied.push({ kind: 'delete', key, revision });
      }
    }
    writeRevision(this.#database, this.#revision + applied.length);
    return applied;
  }
}
