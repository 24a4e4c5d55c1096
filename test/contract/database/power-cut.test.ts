import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { openDatabase } from '../../../storage/database/index.ts';

const COUNT = 12;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bth-power-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A database of containers, each one transaction of row, state and event, all of it still in the journal. */
function write(): { database: Buffer; journal: Buffer } {
  const path = join(folder, 'before.db');
  const database = openDatabase(path, silentLogger);
  for (let index = 0; index < COUNT; index += 1) {
    const id = `c${index}`;
    database.transaction(() => {
      const common = { name: id, imageId: 'i', layerIds: [], createdNano: BigInt(index) };
      database.containers.insert({
        id,
        ...common,
        spec: { text: 'x'.repeat(3000) },
        state: { status: 'created' },
      });
      database.events.insert({
        timeNano: BigInt(index),
        type: 'container',
        action: 'create',
        actorId: id,
        attributes: {},
      });
    });
  }
  const copy = join(folder, 'copy.db');
  copyFileSync(path, copy);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  database.close();
  return { database: readFileSync(copy), journal: readFileSync(`${copy}-wal`) };
}

/** What is found when the power went while the journal was so far on the disk. */
function openAfter(before: { database: Buffer }, journal: Buffer): string[] {
  const path = join(folder, 'after.db');
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(`${path}${suffix}`, { force: true });
  }
  writeFileSync(path, before.database);
  writeFileSync(`${path}-wal`, journal);
  const database = openDatabase(path, silentLogger);
  try {
    expect(database.integrityProblems()).toEqual([]);
    expect(database.quarantined()).toEqual([]);
    const ids = database.containers.all().map(({ id }) => id);
    const events = database.events.range({ limit: 100 }).map(({ actorId }) => actorId);
    expect(events).toEqual(ids);
    return ids;
  } finally {
    database.close();
  }
}

const all = Array.from({ length: COUNT }, (_, index) => `c${index}`);

test('R9: a journal cut off anywhere loses the last objects and halves none', () => {
  const before = write();
  const step = 5231;
  let most = 0;
  for (let length = 0; length <= before.journal.length; length += step) {
    const ids = openAfter(before, before.journal.subarray(0, length));
    expect(ids).toEqual(all.slice(0, ids.length));
    expect(ids.length).toBeGreaterThanOrEqual(most);
    most = ids.length;
  }
  expect(openAfter(before, before.journal)).toEqual(all);
});

test('R9: a journal whose end the disk has not written, or with other bytes, is none from there on', () => {
  const before = write();
  for (let from = 4096; from < before.journal.length; from += 29_989) {
    for (const filler of [0, 0xff]) {
      const torn = Buffer.from(before.journal);
      torn.fill(filler, from, Math.min(from + 4096, torn.length));
      const ids = openAfter(before, torn);
      expect(ids).toEqual(all.slice(0, ids.length));
    }
  }
});
