import { dirname } from 'node:path';
import type Sqlite from 'better-sqlite3';
import { InvariantError, invariant } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { named } from './errors.ts';
import { BackgroundSync } from './background-sync.ts';
import { openWritableOrCopy } from './open-copy.ts';
import { pragmaTexts } from './open-file.ts';
import { Reserve } from './reserve.ts';
import { Quarantine } from './quarantine.ts';
import type { QuarantinedRow } from './quarantine.ts';
import type { Database } from './rows.ts';
import { buildHistoryTable } from './tables/build-history.ts';
import { buildRecordTable } from './tables/build-records.ts';
import { clusterEventTable } from './tables/cluster-events.ts';
import { containerTable } from './tables/containers.ts';
import { eventTable } from './tables/events.ts';
import { hubDeliveryTable } from './tables/hub-deliveries.ts';
import { hubLayerTable } from './tables/hub-layers.ts';
import { hubRecordTable } from './tables/hub-records.ts';
import { imageParentTable } from './tables/image-parents.ts';
import { imageTable } from './tables/images.ts';
import { layerTable } from './tables/layers.ts';
import { manifestListTable } from './tables/manifest-lists.ts';
import { metaTable } from './tables/meta.ts';
import { networkTable } from './tables/networks.ts';
import { imageDigestTable, layerBlobTable } from './tables/registries.ts';
import { swarmObjectTable } from './tables/swarm-objects.ts';
import { tagTable } from './tables/tags.ts';
import { volumeHoldTable } from './tables/volume-holds.ts';
import { volumeMakingTable } from './tables/volume-makings.ts';
import { volumeTable } from './tables/volumes.ts';

/** The database as this folder makes it: the tables, and what was taken out of them because it could not be read. */
export interface SqliteDatabase extends Database {
  /** Rows moved to the quarantine table. A sweep should spare the directories of quarantined containers. */
  quarantined(): QuarantinedRow[];
}

/**
 * Opens the database of one data root and brings its schema up to date. `:memory:` gives a private one for tests.
 * On a disk that takes no changes it is a copy in `copyFolder`, which takes none either (`open-copy.ts`).
 * Throws internal with one sentence when the file is damaged beyond its indexes or written by a newer program.
 */
export function openDatabase(path: string, log: Logger, copyFolder = dirname(path)): SqliteDatabase {
  const { connection, isCopy } = openWritableOrCopy(path, copyFolder, log);
  const isFile = path !== ':memory:' && !isCopy;
  const sync = isFile ? new BackgroundSync(path, log) : undefined;
  const transactions = new Transactions(connection, sync);
  const quarantine = new Quarantine(connection, log);
  const reserve = isFile ? new Reserve(connection, path, log) : undefined;
  reserve?.fill();
  const events = eventTable(connection, quarantine);
  const atomically = (change: () => void): void => transactions.run(change, false);
  return {
    containers: containerTable(connection, quarantine, atomically),
    layers: layerTable(connection, atomically),
    images: imageTable(connection, atomically),
    tags: tagTable(connection),
    manifestLists: manifestListTable(connection, atomically),
    digests: imageDigestTable(connection),
    parents: imageParentTable(connection),
    blobs: layerBlobTable(connection),
    volumes: volumeTable(connection, quarantine),
    volumeHolds: volumeHoldTable(connection),
    volumeMakings: volumeMakingTable(connection),
    networks: networkTable(connection, quarantine),
    swarmObjects: swarmObjectTable(connection),
    hubRecords: hubRecordTable(connection, 'hub'),
    hubLayers: hubLayerTable(connection),
    hubDeliveries: hubDeliveryTable(connection),
    buildRecords: buildRecordTable(connection),
    buildHistory: buildHistoryTable(connection, atomically),
    clusterRecords: hubRecordTable(connection, 'cluster'),
    clusterEvents: clusterEventTable(connection),
    events: {
      ...events,
      prune: (keep) => {
        events.prune(keep);
        // What a full disk has used of it is made again in the course of time.
        reserve?.fill();
      },
    },
    meta: metaTable(connection),
    transaction: (change, options) => transactions.run(change, options?.durable ?? false),
    synced: () => sync?.synced() ?? Promise.resolve(),
    integrityProblems: () => [
      ...pragmaTexts(connection, 'integrity_check'),
      ...foreignKeyProblems(connection),
    ],
    sqliteVersion: String(connection.prepare('SELECT sqlite_version()').pluck().get()),
    quarantined: () => quarantine.list(),
    close: () => {
      sync?.[Symbol.dispose]();
      connection.close();
    },
  };
}

/** Transactions of one connection. One inside another is a savepoint: it can fail alone, but commits with the outer. */
class Transactions {
  readonly #connection: Sqlite.Database;
  readonly #sync: BackgroundSync | undefined;
  readonly #begin: Sqlite.Statement;
  readonly #commit: Sqlite.Statement;
  readonly #rollback: Sqlite.Statement;
  readonly #savepoint: Sqlite.Statement;
  readonly #release: Sqlite.Statement;
  readonly #rollbackTo: Sqlite.Statement;
  #depth = 0;
  #durable = false;

  constructor(connection: Sqlite.Database, sync: BackgroundSync | undefined) {
    this.#connection = connection;
    this.#sync = sync;
    this.#begin = connection.prepare('BEGIN IMMEDIATE');
    this.#commit = connection.prepare('COMMIT');
    this.#rollback = connection.prepare('ROLLBACK');
    this.#savepoint = connection.prepare('SAVEPOINT inner_change');
    this.#release = connection.prepare('RELEASE inner_change');
    this.#rollbackTo = connection.prepare('ROLLBACK TO inner_change');
  }

  run<T>(change: () => T, durable: boolean): T {
    return this.#depth === 0 ? this.#outer(change, durable) : this.#inner(change, durable);
  }

  #outer<T>(change: () => T, durable: boolean): T {
    // Cannot change inside a transaction, and takes effect when compiled: no prepared statement for it.
    if (durable) {
      this.#connection.exec('PRAGMA synchronous = FULL');
    }
    try {
      named('begin transaction', () => this.#begin.run());
      this.#durable = durable;
      const result = this.#nested(change);
      failpoint('database.transaction.commit');
      named('commit transaction', () => this.#commit.run());
      if (!durable) {
        this.#sync?.request();
      }
      failpoint('database.transaction.committed');
      return result;
    } catch (error) {
      // SQLite has already rolled back by itself after some errors (disk full).
      if (this.#connection.inTransaction) {
        this.#rollback.run();
      }
      throw error;
    } finally {
      if (durable) {
        this.#connection.exec('PRAGMA synchronous = NORMAL');
      }
    }
  }

  #inner<T>(change: () => T, durable: boolean): T {
    invariant(this.#durable || !durable, 'a durable transaction inside one that is not durable');
    this.#savepoint.run();
    try {
      const result = this.#nested(change);
      this.#release.run();
      return result;
    } catch (error) {
      if (this.#connection.inTransaction) {
        this.#rollbackTo.run();
        this.#release.run();
      }
      throw error;
    }
  }

  #nested<T>(change: () => T): T {
    this.#depth += 1;
    try {
      const result = change();
      if (result instanceof Promise) {
        result.catch(() => {
          // The transaction is already refused; what became of the rest of the function says nothing more.
        });
        throw new InvariantError('a transaction must not wait: its function returned a promise');
      }
      return result;
    } finally {
      this.#depth -= 1;
    }
  }
}

function foreignKeyProblems(connection: Sqlite.Database): string[] {
  return connection
    .prepare<[], { table: string; rowid: number | null; parent: string }>('PRAGMA foreign_key_check')
    .all()
    .map(({ table, rowid, parent }) => `row ${rowid} of ${table} refers to a missing row of ${parent}`);
}
