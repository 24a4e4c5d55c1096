import { armHere } from '../../support/fakes/failpoints.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { LocalRecords } from '../../../daemon/hub/records/local-records.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { recordsContract } from '../../support/hub/records-contract.ts';

function opened(file = ':memory:') {
  const database = openDatabase(file, silentLogger);
  onTestFinished(() => database.close());
  return { database, records: new LocalRecords(database) };
}

recordsContract('records of one host', () => Promise.resolve(opened().records));

test('records and their revisions outlive the daemon', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-records-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'berth.db');
  const database = openDatabase(file, silentLogger);
  const first = new LocalRecords(database);
  await first.update([{ kind: 'put', key: 'a', value: 1 }]);
  const revision = await first.update([{ kind: 'delete', key: 'a' }]);
  database.close();

  const { records } = opened(file);
  expect((await records.list('')).revision).toBe(revision);
  expect(await records.update([{ kind: 'put', key: 'b', value: 1 }])).toBe(revision + 1);
});

test('a watch from further back than is remembered is told to list again', async () => {
  const { records } = opened();
  for (let count = 0; count <= limits.hubUpdatesRemembered; count += 1) {
    await records.update([{ kind: 'put', key: 'a', value: count }]);
  }
  const told: string[] = [];
  const listener = { onChanges: () => told.push('changes'), onRelist: () => told.push('relist') };
  records.watch('', 1, listener)[Symbol.dispose]();
  await expect.poll(() => told).toEqual(['relist']);
});

test.each([
  ['hub.records.update', 0],
  ['database.hubrecord.put', 0],
  ['database.hubrecord.remove', 0],
  ['hub.records.updated', 1],
])('an update that fails at %s is made whole or not at all', async (point, made) => {
  const { records } = opened();
  await records.update([{ kind: 'put', key: 'old', value: 1 }]);
  armHere(`${point}=error`);
  await expect(
    records.update([
      { kind: 'put', key: 'new', value: 1 },
      { kind: 'delete', key: 'old' },
    ]),
  ).rejects.toThrow();
  armHere('');
  const keys = (await records.list('')).records.map(({ key }) => key);
  expect(keys).toEqual(made === 1 ? ['new'] : ['old']);
  // The next update has a revision of its own.
  const { revision } = await records.list('');
  expect(await records.update([{ kind: 'put', key: 'next', value: 1 }])).toBe(revision + 1);
});

test('updates that come at once are seen at once, and answered when they are on the disk', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-records-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const { database } = opened(join(directory, 'berth.db'));
  const order: string[] = [];
  const waits: (() => void)[] = [];
  const records = new LocalRecords({
    ...database,
    transaction: (change) => database.transaction(change),
    synced: async () => {
      await new Promise<void>((resolve) => {
        waits.push(resolve);
      });
      await database.synced();
    },
  });
  const writing = ['a', 'b'].map(async (key) => {
    await records.update([{ kind: 'put', key, value: 1, expected: 0 }]);
    order.push(key);
  });
  await records.update([{ kind: 'put', key: 'c', value: 1 }], { mayBeLost: true });
  expect((await records.list('')).records.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  expect([order, waits.length]).toEqual([[], 2]);
  waits.forEach((go) => go());
  await Promise.all(writing);
  expect(order).toEqual(['a', 'b']);
});

test('a sync of the database is waited for by all that committed before it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-records-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const database = openDatabase(join(directory, 'berth.db'), silentLogger);
  await database.synced();
  for (let count = 0; count < 3; count += 1) {
    // The second one comes while the sync for the first one runs, and needs another.
    const both = ['a', 'b'].map((key) => {
      database.transaction(() => database.meta.set(key, String(count)));
      return database.synced();
    });
    await Promise.all(both);
  }
  database.transaction(() => database.meta.set('c', '1'));
  const last = database.synced();
  database.close();
  await last;
});
