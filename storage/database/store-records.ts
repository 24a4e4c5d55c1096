import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { EngineError, errorText } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { copyDatabase } from './copy-file.ts';
import { migrations } from './migrations/index.ts';
import { openFile, pragmaTexts } from './open-file.ts';
import { Quarantine } from './quarantine.ts';
import type { LayerRow } from './rows.ts';
import { containerTable } from './tables/containers.ts';
import { networkTable } from './tables/networks.ts';
import { volumeTable } from './tables/volumes.ts';

export interface RecordedImage {
  id: string;
  config: Buffer;
  sizeBytes: number;
  /** Canonical `repository:tag`. */
  tags: string[];
  /** Canonical `repository@digest`. */
  digests: string[];
  /** By position; the layer may have no row. */
  layerIds: number[];
}

export interface RecordedContainer {
  id: string;
  name: string;
  layerIds: number[];
}

/** Rows that refer to a row that is not there. */
export interface OrphanReference {
  table: string;
  /** Its full name: `docker.io/library/busybox:latest`. */
  name: string;
  rowid: string;
}

/** Tables whose rows mean nothing without the row they refer to: what names one, and what it refers to. */
const REFERENCES: readonly { table: string; name: string; column: string; parent: string }[] = [
  { table: 'tags', name: "repository || ':' || tag", column: 'image_id', parent: 'images' },
  { table: 'image_digests', name: "repository || '@' || digest", column: 'image_id', parent: 'images' },
  { table: 'image_parents', name: 'image_id', column: 'image_id', parent: 'images' },
  { table: 'manifest_lists', name: 'id', column: 'image_id', parent: 'images' },
  { table: 'manifest_list_images', name: 'list_id', column: 'list_id', parent: 'manifest_lists' },
  { table: 'manifest_list_images', name: 'list_id', column: 'image_id', parent: 'images' },
  {
    table: 'manifest_documents',
    name: "list_id || ' ' || digest",
    column: 'list_id',
    parent: 'manifest_lists',
  },
  { table: 'image_layers', name: 'image_id', column: 'image_id', parent: 'images' },
  { table: 'layer_blobs', name: "repository || '@' || digest", column: 'layer_id', parent: 'layers' },
  { table: 'hub_layers', name: 'digest', column: 'layer_id', parent: 'layers' },
  { table: 'build_records', name: 'key', column: 'layer_id', parent: 'layers' },
  { table: 'container_states', name: 'container_id', column: 'container_id', parent: 'containers' },
  { table: 'container_layers', name: 'container_id', column: 'container_id', parent: 'containers' },
];

/** Rows that hold JSON: their table, what names them, and the test that they can be read. */
const READABLE: readonly { table: string; key: string; isReadable: string }[] = [
  {
    table: 'containers',
    key: 'id',
    isReadable:
      'json_valid(spec) AND EXISTS (SELECT 1 FROM container_states WHERE container_id = id AND json_valid(state))',
  },
  { table: 'volumes', key: 'name', isReadable: 'json_valid(options) AND json_valid(labels)' },
  { table: 'networks', key: 'id', isReadable: 'json_valid(spec)' },
];

/**
 * The rows of a data root as they are, right or wrong, and changes that put them right. Unlike the tables of `index.ts`
 * it expects nothing to hold. SQLite's errors (a table that cannot be read) are EngineErrors.
 */
export class StoreRecords implements Disposable {
  readonly #path: string;
  readonly #log: Logger;
  /** What is read now; with `copies` it is one of the copies. */
  #connection: Sqlite.Database;
  readonly #copies: CopyFolder | undefined;

  private constructor(parts: {
    path: string;
    connection: Sqlite.Database;
    copies?: CopyFolder;
    log: Logger;
  }) {
    this.#path = parts.path;
    this.#connection = parts.connection;
    this.#copies = parts.copies;
    this.#log = parts.log;
  }

  /**
   * To be read only, also while a daemon writes: from a copy in `scratch`, a directory that is made when it is missing.
   * Throws unavailable when the schema is not this program's, internal when the file is no database.
   */
  static read(path: string, { scratch, log }: { scratch: string; log: Logger }): StoreRecords {
    if (!existsSync(path)) {
      throw new EngineError('unavailable', `${path}: no such file`);
    }
    const copies = new CopyFolder(path, scratch);
    try {
      return new StoreRecords({ path, connection: copies.open(), copies, log });
    } catch (error) {
      copies[Symbol.dispose]();
      throw error;
    }
  }

  /** The rows as they are now: what a daemon has changed meanwhile is seen from here on. */
  refresh(): void {
    if (this.#copies !== undefined) {
      this.#connection.close();
      this.#connection = this.#copies.open();
    }
  }

  /** To be changed. Brings indexes and schema in order, as the start of a daemon does. Throws internal for damage. */
  static change(path: string, log: Logger): StoreRecords {
    const connection = openFile(path, log);
    // Rows that are put right one by one refer to what is put right later.
    connection.pragma('foreign_keys = OFF');
    return new StoreRecords({ path, connection, log });
  }

  /** What SQLite finds wrong with the file. */
  integrityProblems(): string[] {
    return readDatabase(this.#path, () => pragmaTexts(this.#connection, 'integrity_check'));
  }

  reindex(): void {
    this.#connection.exec('REINDEX');
  }

  layers(): LayerRow[] {
    return this.#all<LayerRow>(
      `SELECT id, diff_id AS diffId, chain_id AS chainId, parent_id AS parentId, size_bytes AS sizeBytes
       FROM layers ORDER BY id`,
    );
  }

  images(): RecordedImage[] {
    const list = (sql: string, id: string): string[] =>
      this.#all<{ value: string }>(sql, id).map(({ value }) => value);
    return this.#all<{ id: string; config: Buffer; sizeBytes: number }>(
      'SELECT id, config, size_bytes AS sizeBytes FROM images ORDER BY id',
    ).map((image) => ({
      ...image,
      tags: list("SELECT repository || ':' || tag AS value FROM tags WHERE image_id = ?", image.id),
      digests: list(
        "SELECT repository || '@' || digest AS value FROM image_digests WHERE image_id = ?",
        image.id,
      ),
      layerIds: this.#all<{ value: number }>(
        'SELECT layer_id AS value FROM image_layers WHERE image_id = ? ORDER BY position',
        image.id,
      ).map(({ value }) => value),
    }));
  }

  containers(): RecordedContainer[] {
    return this.#all<{ id: string; name: string }>('SELECT id, name FROM containers ORDER BY name').map(
      (container) => ({
        ...container,
        layerIds: this.#all<{ value: number }>(
          'SELECT layer_id AS value FROM container_layers WHERE container_id = ? ORDER BY position',
          container.id,
        ).map(({ value }) => value),
      }),
    );
  }

  /** Layers that the hub serves. */
  hubLayerIds(): number[] {
    return this.#all<{ value: number }>('SELECT layer_id AS value FROM hub_layers').map(({ value }) => value);
  }

  /** Topmost layers of what builds keep. */
  buildLayerIds(): number[] {
    return this.#all<{ value: number }>(
      'SELECT layer_id AS value FROM build_records WHERE layer_id IS NOT NULL',
    ).map(({ value }) => value);
  }

  volumes(): string[] {
    return this.#all<{ name: string }>('SELECT name FROM volumes ORDER BY name').map(({ name }) => name);
  }

  /** Keys of quarantined rows, as `containers 4f2a...`. */
  quarantined(): string[] {
    return this.#all<{ value: string }>(
      "SELECT table_name || ' ' || row_key AS value FROM quarantine ORDER BY id",
    ).map(({ value }) => value);
  }

  /** Keys of rows that cannot be read. */
  unreadable(): { table: string; key: string }[] {
    return READABLE.flatMap(({ table, key, isReadable }) =>
      this.#all<{ table: string; key: string }>(
        `SELECT '${table}' AS "table", ${key} AS key FROM ${table} WHERE NOT (${isReadable})`,
      ),
    );
  }

  /** Moves them to the quarantine table. */
  quarantineUnreadable(): void {
    const quarantine = new Quarantine(this.#connection, this.#log);
    const atomically = (change: () => void): void => this.#connection.transaction(change)();
    containerTable(this.#connection, quarantine, atomically).all();
    volumeTable(this.#connection, quarantine).all();
    networkTable(this.#connection, quarantine).all();
    this.dropOrphans();
  }

  orphans(): OrphanReference[] {
    return REFERENCES.flatMap(({ table, name, column, parent }) =>
      this.#all<OrphanReference>(
        `SELECT DISTINCT '${table}' AS "table", ${name} AS name FROM ${table}
         WHERE ${column} NOT IN (SELECT id FROM ${parent})`,
      ),
    );
  }

  dropOrphans(): void {
    this.#connection.transaction(() => {
      for (const { table, column, parent } of REFERENCES) {
        this.#connection
          .prepare(`DELETE FROM ${table} WHERE ${column} NOT IN (SELECT id FROM ${parent})`)
          .run();
      }
    })();
  }

  /**
   * Moves the image with its names to the quarantine table: what of it can be read stays there, for a repair by hand.
   */
  quarantineImage(image: RecordedImage, reason: string): void {
    const content = JSON.stringify({ ...image, config: image.config.toString('base64') });
    this.#connection.transaction(() => {
      this.#connection
        .prepare(
          'INSERT INTO quarantine (table_name, row_key, reason, content, found_at) VALUES (?, ?, ?, ?, ?)',
        )
        .run('images', image.id, reason, content, new Date().toISOString());
      this.#connection.prepare('DELETE FROM images WHERE id = ?').run(image.id);
      this.dropOrphans();
    })();
  }

  putLayer({ id, diffId, chainId, parentId, sizeBytes }: LayerRow): void {
    this.#connection
      .prepare(
        `INSERT INTO layers (id, diff_id, chain_id, parent_id, size_bytes) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET parent_id = excluded.parent_id, size_bytes = excluded.size_bytes`,
      )
      .run(id, diffId, chainId, parentId, sizeBytes);
    this.#connection.prepare('UPDATE layer_counter SET last_id = max(last_id, ?)').run(id);
  }

  /** The layers of an image, bottom first. */
  setImageLayers(imageId: string, layerIds: readonly number[]): void {
    this.#connection.transaction(() => {
      this.#connection.prepare('DELETE FROM image_layers WHERE image_id = ?').run(imageId);
      layerIds.forEach((layerId, position) => {
        this.#connection
          .prepare('INSERT INTO image_layers (image_id, position, layer_id) VALUES (?, ?, ?)')
          .run(imageId, position, layerId);
      });
    })();
  }

  nextLayerId(): number {
    const [row] = this.#all<{ id: number }>(
      `UPDATE layer_counter SET last_id = max(last_id, (SELECT coalesce(max(id), 0) FROM layers)) + 1
       RETURNING last_id AS id`,
    );
    return row?.id ?? 1;
  }

  removeLayer(id: number): void {
    this.#connection.transaction(() => {
      this.#connection.prepare('DELETE FROM layers WHERE id = ?').run(id);
      this.dropOrphans();
    })();
  }

  /** A volume whose directory is there; its labels and options are lost. */
  adoptVolume(name: string): void {
    this.#connection
      .prepare(
        `INSERT INTO volumes (name, driver, options, labels, anonymous, created_nano)
         VALUES (?, 'local', '{}', '{}', 0, ?)`,
      )
      .run(name, BigInt(Date.now()) * 1_000_000n);
  }

  [Symbol.dispose](): void {
    this.#connection.close();
    this.#copies?.[Symbol.dispose]();
  }

  #all<Row>(sql: string, ...values: unknown[]): Row[] {
    return readDatabase(this.#path, () => this.#connection.prepare<unknown[], Row>(sql).all(...values));
  }
}

/** Copies of a database, one at a time, in a directory that goes with them. */
class CopyFolder implements Disposable {
  readonly #path: string;
  readonly #folder: string;

  constructor(path: string, scratch: string) {
    mkdirSync(scratch, { recursive: true, mode: 0o700 });
    this.#path = path;
    this.#folder = mkdtempSync(join(scratch, 'check-'));
  }

  /** A fresh copy in place of the last, which is no longer open. Throws as `StoreRecords.read` does. */
  open(): Sqlite.Database {
    const copy = join(this.#folder, basename(this.#path));
    let connection: Sqlite.Database | undefined;
    try {
      connection = readDatabase(this.#path, () => {
        copyDatabase(this.#path, copy);
        return new Sqlite(copy);
      });
      this.#checkSchema(connection);
      return connection;
    } catch (error) {
      connection?.close();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #checkSchema(connection: Sqlite.Database): void {
    const schema = readDatabase(this.#path, () => {
      connection.pragma('locking_mode = EXCLUSIVE');
      return Number(connection.pragma('user_version', { simple: true }));
    });
    if (schema !== migrations.length) {
      const text = `has schema ${schema}, this program knows ${migrations.length}: start the daemon of this version`;
      throw new EngineError('unavailable', `database ${this.#path} ${text}`);
    }
  }
}

function readDatabase<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof EngineError) {
      throw error;
    }
    throw new EngineError('internal', `database ${path} cannot be read: ${errorText(error)}`, {
      cause: error,
    });
  }
}
