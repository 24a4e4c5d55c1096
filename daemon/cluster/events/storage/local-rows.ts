/** What events need of the database (storage/database/rows.ts). */
export interface EventDatabase {
  readonly clusterEvents: {
    after(key: string, limit: number): { key: string; body: string; revision: number }[];
    has(key: string): boolean;
    put(row: { key: string; body: string; revision: number }): void;
    remove(key: string): void;
  };
  readonly meta: { get(key: string): string | undefined; set(key: string, value: string): void };
  transaction<T>(change: () => T, options?: { durable?: boolean }): T;
  /** Resolves when all transactions up to here survive a power cut. Throws internal. */
  synced(): Promise<void>;
}

/** The row of `meta` with the newest revision. */
const REVISION = 'cluster.events.revision';

export function readRevision({ meta }: Pick<EventDatabase, 'meta'>): number {
  return Number(meta.get(REVISION) ?? 0);
}

export function writeRevision({ meta }: Pick<EventDatabase, 'meta'>, revision: number): void {
  meta.set(REVISION, String(revision));
}

/** The events in this host's database while nobody uses them, for moves. */
export class LocalRows {
  readonly #database: EventDatabase;

  constructor(database: EventDatabase) {
    this.#database = database;
  }

  /** What is there already stays as it is. */
  add(rows: readonly { key: string; body: string }[]): void {
    const { clusterEvents } = this.#database;
    this.#database.transaction(
      () => {
        for (const row of rows) {
          if (!clusterEvents.has(row.key)) {
            const revision = readRevision(this.#database) + 1;
            clusterEvents.put({ ...row, revision });
            writeRevision(this.#database, revision);
          }
        }
      },
      { durable: true },
    );
  }

  remove(keys: readonly string[]): void {
    this.#database.transaction(() => keys.forEach((key) => this.#database.clusterEvents.remove(key)), {
      durable: true,
    });
  }

  /** Revisions go on from there. */
  atLeast(revision: number): void {
    if (readRevision(this.#database) < revision) {
      this.#database.transaction(() => writeRevision(this.#database, revision), { durable: true });
    }
  }
}
