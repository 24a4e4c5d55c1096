import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { ExitRecords } from '../../../../runtime/monitor/exit-records.ts';

const ID = 'ab'.repeat(32);
let directory: string;
let records: ExitRecords;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-exits-'));
  records = new ExitRecords({ directory, log: silentLogger });
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test.each([
  ['0', 0],
  ['137', 137],
  ['3\n', 3],
  ['-1', 255],
  ['', 137],
  ['garbage', 137],
])('read takes %j for exit code %d', (text, exitCode) => {
  writeFileSync(join(directory, ID), text);
  utimesSync(join(directory, ID), 1000.5, 1000.5);
  expect(records.read(ID)).toEqual({ exitCode, finishedAtNano: 1_000_500_000_000n });
});

test('list leaves out drafts and strangers, forget forgets', () => {
  for (const name of [ID, `${ID}.X1Y2Z3`, 'README']) {
    writeFileSync(join(directory, name), '0');
  }
  expect(records.list()).toEqual([ID]);
  records.forget(ID);
  records.forget(ID);
  expect(records.list()).toEqual([]);
  expect(records.read(ID)).toBeUndefined();
});

test('removeDrafts removes what a killed writer left of one container', () => {
  for (const name of [ID, `${ID}.X1Y2Z3`, `.lost-${ID}`, 'README']) {
    writeFileSync(join(directory, name), '0');
  }
  records.removeDrafts(ID);
  expect(readdirSync(directory).toSorted()).toEqual(['README', ID]);
});

test('recordLost makes up a record once and never replaces a true one', () => {
  records.recordLost(ID);
  expect(records.read(ID)?.exitCode).toBe(137);
  writeFileSync(join(directory, ID), '4');
  records.recordLost(ID);
  expect(records.read(ID)?.exitCode).toBe(4);
  expect(readdirSync(directory)).toEqual([ID]);
});
