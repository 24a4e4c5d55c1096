import { conflict, EngineError, invariant } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type {
  HubRecord,
  ListOptions,
  RecordChange,
  RecordEvent,
  RecordListener,
  RecordPage,
  Records,
  UpdateOptions,
} from './port.ts';

/** What local records need of the database (storage/database/rows.ts). */
export interface RecordDatabase {
  readonly hubRecords: {
    get(key: string): Row | undefined;
    below(page: { prefix: string; after: string; limit: number }): Row[];
    put(row: Row): void;
    /** Whether it was there. */
    remove(key: string): boolean;
  };
  readonly meta: { get(key: string): string | undefined; set(key: string, value: string): void };
  transaction<T>(change: () => T): T;
  /** Resolves when all transactions up to here survive a power cut. Throws internal. */
  synced(): Promise<void>;
}

/** Stops who writes before the disk is full: the database and running containers must still be able to write. */
export interface Room {
  /** Throws resource_exhausted when the disk is about to fill. */
  look(): void;
}

interface Row {
  key: string;
  value: string;
  revision: number;
}

interface Watch {
  prefix: string;
  listener: RecordListener;
}

/** The row of `meta` with the newest revision. */
const REVISION = 'hub.revision';

/**
 * {@link Records} of one host, in its database. An update is one transaction, which all see at once. It is answered
 * when it is on the disk: those that come while the disk is busy go there together.
 */
export class LocalRecords implements Records {
  readonly #database: RecordDatabase;
  readonly #room: Room | undefined;
  readonly #watches = new Set<Watch>();
  /** The newest updates, for watches that begin a little later than their list. */
  readonly #history: { revision: number; events: readonly RecordEvent[] }[] = [];
  #revision: number;
  /** All updates after it are in the history. */
  #forgotten: number;

  /** Without `room` a full disk is seen by the database alone, which has pages in reserve. */
  constructor(database: RecordDatabase, room?: Room) {
    this.#database = database;
    this.#room = room;
    this.#revision = Number(database.meta.get(REVISION) ?? 0);
    this.#forgotten = this.#revision;
  }

  get(key: string): Promise<HubRecord | undefined> {
    const row = this.#database.hubRecords.get(key);
    return Promise.resolve(row && toRecord(row));
  }

  list(prefix: string, options: ListOptions = {}): Promise<RecordPage> {
    const { after = '', limit = limits.hubPageRecords } = options;
    const rows = this.#database.hubRecords.below({ prefix, after, limit });
    return Promise.resolve({ records: rows.map(toRecord), revision: this.#revision });
  }

  /** The transaction is made before this returns: an update that follows without waiting sees it. */
  async update(changes: readonly RecordChange[], { mayBeLost = false }: UpdateOptions = {}): Promise<number> {
    const revision = this.#update(changes);
    if (!mayBeLost) {
      await this.#database.synced();
    }
    return revision;
  }

  #update(changes: readonly RecordChange[]): number {
    invariant(new Set(changes.map(({ key }) => key)).size === changes.length, 'an update names a key twice');
    const rows = new Map(changes.map((change) => [change.key, textOf(change)]));
    if (needsRoom(changes)) {
      this.#room?.look();
    }
    failpoint('hub.records.update');
    const revision = this.#revision + 1;
    const events = this.#database.transaction(() => this.#write(changes, rows, revision));
    if (events.length === 0) {
      return this.#revision;
    }
    this.#revision = revision;
    this.#remember(revision, events);
    failpoint('hub.records.updated');
    this.#tell(events, revision);
    return revision;
  }

  watch(prefix: string, from: number, listener: RecordListener): Disposable {
    const watch = { prefix, listener };
    if (from <= this.#forgotten) {
      // As of a store elsewhere: never before the caller has the answer.
      queueMicrotask(() => listener.onRelist());
      return { [Symbol.dispose]: () => undefined };
    }
    for (const { revision, events } of this.#history.filter((each) => each.revision >= from)) {
      tellOne(watch, events, revision);
    }
    this.#watches.add(watch);
    return { [Symbol.dispose]: () => this.#watches.delete(watch) };
  }

  /** Answers what has changed. Throws conflict, which takes the transaction back. */
  #write(
    changes: readonly RecordChange[],
    rows: ReadonlyMap<string, string>,
    revision: number,
  ): readonly RecordEvent[] {
    const { hubRecords, meta } = this.#database;
    const events: RecordEvent[] = [];
    for (const change of changes) {
      if (change.expected !== undefined) {
        const found = hubRecords.get(change.key)?.revision ?? 0;
        if (found !== change.expected) {
          throw conflict(`record ${change.key} of the hub was changed meanwhile`, {
            details: { key: change.key, revision: found },
          });
        }
      }
      if (change.kind === 'put') {
        hubRecords.put({ key: change.key, value: rows.get(change.key) ?? '', revision });
        events.push({ kind: 'put', record: { key: change.key, value: change.value, revision } });
      } else if (change.kind === 'delete' && hubRecords.remove(change.key)) {
        events.push({ kind: 'delete', key: change.key });
      }
    }
    if (events.length > 0) {
      meta.set(REVISION, String(revision));
    }
    return events;
  }

  #remember(revision: number, events: readonly RecordEvent[]): void {
    this.#history.push({ revision, events });
    if (this.#history.length > limits.hubUpdatesRemembered) {
      this.#forgotten = this.#history.shift()?.revision ?? this.#forgotten;
    }
  }

  #tell(events: readonly RecordEvent[], revision: number): void {
    for (const watch of this.#watches) {
      tellOne(watch, events, revision);
    }
  }
}

function tellOne({ prefix, listener }: Watch, events: readonly RecordEvent[], revision: number): void {
  const below = events.filter((event) => keyOf(event).startsWith(prefix));
  if (below.length > 0) {
    listener.onChanges(below, revision);
  }
}

function keyOf(event: RecordEvent): string {
  return event.kind === 'put' ? event.record.key : event.key;
}

function toRecord({ key, value, revision }: Row): HubRecord {
  return { key, value: JSON.parse(value), revision };
}

/**
 * What takes something away may use what the database has in reserve, as it makes room; so may the keys of the hub
 * itself, a few bytes once, without which nobody could sign in.
 */
function needsRoom(changes: readonly RecordChange[]): boolean {
  return (
    changes.every(({ kind }) => kind !== 'delete') &&
    changes.some(({ kind, key }) => kind === 'put' && !key.startsWith('secret/'))
  );
}

/** The text of a value that is written. Throws resource_exhausted when it is too large. */
function textOf(change: RecordChange): string {
  if (change.kind !== 'put') {
    return '';
  }
  const text = JSON.stringify(change.value);
  const size = Buffer.byteLength(text);
  if (size > limits.hubRecordBytesMax) {
    throw new EngineError(
      'resource_exhausted',
      `record ${change.key} of the hub has ${size} bytes; at most ${limits.hubRecordBytesMax} are kept`,
    );
  }
  return text;
}
