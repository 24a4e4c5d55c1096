import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { copyDatabase } from '../../../storage/database/copy-file.ts';
import { openDatabase } from '../../../storage/database/index.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const COPIES = 30;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'berth-two-'));
  file = path.join(folder, 'berth.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('R38: a database that is open is opened by nobody else, to read or to write', () => {
  const database = openDatabase(file, silentLogger);
  database.meta.set('a', '1');
  for (const readonly of [true, false]) {
    const other = new Sqlite(file, { readonly, timeout: 10 });
    expect(() => other.prepare('SELECT * FROM meta').all()).toThrow('database is locked');
    other.close();
  }
  database.close();
});

/** A daemon that commits the same number in two places, and brings its log into the file again and again. */
const writerOf = (database: string): string => `
  import { openDatabase } from '${ROOT}/storage/database/index.ts';
  import { silentLogger } from '${ROOT}/daemon/base/logger.ts';
  import { setImmediate } from 'node:timers/promises';
  const opened = openDatabase('${database}', silentLogger);
  const text = 'x'.repeat(20_000);
  console.log('open');
  for (let number = 0; ; number += 1) {
    opened.transaction(() => {
      opened.meta.set('first', String(number));
      opened.meta.set('filling-' + (number % 300), text + number);
      opened.meta.set('last', String(number));
    });
    await setImmediate();
  }`;

test('R74: a copy made beside a daemon that writes and checkpoints is what was committed at one moment', async () => {
  const script = path.join(folder, 'writer.mts');
  writeFileSync(script, writerOf(file));
  const writer = spawn(process.execPath, ['--import', 'tsx', script], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(writer.stdout, 'data');
    const copy = path.join(folder, 'copy.db');
    const seen = new Set<string>();
    // The writer comes to it now and then only on a busy machine.
    for (let round = 0; round < COPIES || seen.size <= COPIES / 2; round += 1) {
      copyDatabase(file, copy);
      const database = new Sqlite(copy);
      const value = database.prepare('SELECT value FROM meta WHERE key = ?').pluck();
      expect(value.get('last')).toEqual(value.get('first'));
      expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
      seen.add(String(value.get('last')));
      database.close();
    }
  } finally {
    writer.kill('SIGKILL');
    await once(writer, 'exit');
  }
});
