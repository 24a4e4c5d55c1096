import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { openDatabase } from '../../../storage/database/index.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bth-database-'));
  path = join(folder, 'root/berth.db');
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function row(id: string) {
  return {
    id,
    name: id,
    imageId: 'i',
    layerIds: [],
    createdNano: 1n,
    spec: {},
    state: { status: 'created' },
  };
}

/** Runs statements on the file behind the engine's back. */
function tamper(sql: string): void {
  const raw = new Sqlite(path);
  raw.exec(sql);
  raw.close();
}

/** Runs a script in another process, which may be killed by a failpoint. Returns the signal. */
function runScript(body: string, failpoints: string): NodeJS.Signals | null {
  const script = `
    import { openDatabase } from '${join(import.meta.dirname, '../../../storage/database/index.ts')}';
    import { silentLogger } from '${join(import.meta.dirname, '../../../daemon/base/logger.ts')}';
    const database = openDatabase('${path}', silentLogger);
    ${body}`;
  const file = join(folder, 'script.ts');
  writeFileSync(file, script);
  const env = { ...process.env, BERTH_FAILPOINTS: failpoints };
  return spawnSync(process.execPath, ['--import', 'tsx', file], {
    env,
    cwd: join(import.meta.dirname, '../../..'),
  }).signal;
}

test('the database and its journal are readable by nobody else', () => {
  const database = openDatabase(path, silentLogger);
  database.meta.set('a', '1');
  const modes = [path, `${path}-wal`].map((file) => (statSync(file).mode & 0o777).toString(8));
  expect(modes).toEqual(['600', '600']);
  database.close();
});

test('what was committed is there after a second opening', () => {
  const first = openDatabase(path, silentLogger);
  first.transaction(() => first.containers.insert(row('c1')), { durable: true });
  first.close();
  const second = openDatabase(path, silentLogger);
  expect(second.containers.all()).toEqual([row('c1')]);
  second.close();
});

test('unreadable rows go to the quarantine table and the others stay', () => {
  const first = openDatabase(path, silentLogger);
  for (const id of ['c1', 'c2', 'c3', 'c4']) {
    first.containers.insert(row(id));
  }
  const event = { timeNano: 1n, type: 'daemon', action: 'reload', actorId: 'x', attributes: {} };
  first.events.insert(event);
  first.events.insert(event);
  first.close();
  tamper(`UPDATE containers SET spec = '{"Image":' WHERE id = 'c1';
          UPDATE container_states SET state = '' WHERE container_id = 'c2';
          DELETE FROM container_states WHERE container_id = 'c3';
          UPDATE events SET attributes = '[1]' WHERE id = 1;`);
  const second = openDatabase(path, silentLogger);
  expect(second.containers.all()).toEqual([row('c4')]);
  expect(second.events.range({ limit: 9 }).map(({ id }) => id)).toEqual([2]);
  expect(second.quarantined().map(({ tableName, rowKey }) => `${tableName} ${rowKey}`)).toEqual([
    'containers c1',
    'containers c2',
    'containers c3',
    'events 1',
  ]);
  expect(second.integrityProblems()).toEqual([]);
  second.close();
});

test.each(['database.migrate.step', 'database.migrate.stepped'])(
  'a daemon killed at %s leaves a file that the next one completes',
  (name) => {
    expect(runScript('', `${name}=sigkill`)).toBe('SIGKILL');
    const database = openDatabase(path, silentLogger);
    database.containers.insert(row('c1'));
    expect(database.integrityProblems()).toEqual([]);
    database.close();
  },
);

test.each([
  ['database.transaction.commit', undefined],
  ['database.transaction.committed', '1'],
])('a daemon killed at %s keeps exactly what was committed', (name, kept) => {
  const body = `database.transaction(() => database.meta.set('a', '1'), { durable: true });`;
  expect(runScript(body, `${name}=sigkill`)).toBe('SIGKILL');
  const database = openDatabase(path, silentLogger);
  expect(database.meta.get('a')).toBe(kept);
  database.close();
});

test('a file that is no database is refused in one sentence', () => {
  openDatabase(path, silentLogger).close();
  writeFileSync(path, 'x'.repeat(8192));
  expect(() => openDatabase(path, silentLogger)).toThrow(`open database ${path}: file is not a database`);
});

test('a damaged page is refused in one sentence', () => {
  const first = openDatabase(path, silentLogger);
  for (let index = 0; index < 200; index += 1) {
    first.meta.set(`key-${index}`, 'x'.repeat(500));
  }
  first.close();
  const bytes = readFileSync(path);
  bytes.fill(0xff, 20 * 4096 + 100, 30 * 4096);
  writeFileSync(path, bytes);
  expect(() => openDatabase(path, silentLogger)).toThrow(/damaged|malformed/);
});

test('a file of a newer program is refused in one sentence', () => {
  openDatabase(path, silentLogger).close();
  tamper('PRAGMA user_version = 999');
  expect(() => openDatabase(path, silentLogger)).toThrow(/has schema 999, written by a newer berthd/);
});
