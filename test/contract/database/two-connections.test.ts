import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/log.ts';
import { openDatabase } from '../../../storage/database/index.ts';

const SECONDS = 3;
/** Older ones damage a WAL database when one connection writes while another resets the log (fixed in 3.51.3). */
const FLOOR = [3, 51, 3];

/** Another program with the database open: a backup, a person with the shell. */
const OTHER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require('better-sqlite3');
  const other = new Database(workerData.file, { timeout: 5000 });
  const end = Date.now() + workerData.seconds * 1000;
  let written = 0;
  let checkpoints = 0;
  while (Date.now() < end) {
    other
      .prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
      .run('other-' + (written % 500), String(written));
    written += 1;
    if (written % 7 === 0) {
      other.pragma('wal_checkpoint(' + ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE'][checkpoints % 4] + ')');
      checkpoints += 1;
    }
  }
  other.close();
  parentPort.postMessage({ written, checkpoints });
`;

test('R38: two connections that write and checkpoint at the same time damage nothing', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-two-'));
  const file = path.join(folder, 'berth.db');
  const database = openDatabase(file, silentLogger);
  try {
    expect(compare(database.sqliteVersion.split('.').map(Number), FLOOR)).toBeGreaterThanOrEqual(0);
    const worker = new Worker(OTHER, { eval: true, workerData: { file, seconds: SECONDS } });
    const stop = new AbortController();
    const ended = (once(worker, 'message') as Promise<[{ written: number; checkpoints: number }]>).finally(
      () => stop.abort(),
    );
    let written = 0;
    while (!stop.signal.aborted) {
      const value = String(written);
      database.transaction(() => database.meta.set(`ours-${written % 500}`, value), {
        durable: written % 10 === 0,
      });
      expect(database.meta.get(`ours-${written % 500}`)).toBe(value);
      written += 1;
      await nextTurn();
    }
    const [answer] = await ended;
    expect(database.integrityProblems()).toEqual([]);
    expect([written > 50, answer.written > 50, answer.checkpoints > 5]).toEqual([true, true, true]);
    database.close();
    const again = openDatabase(file, silentLogger);
    expect(again.meta.get(`ours-${(written - 1) % 500}`)).toBe(String(written - 1));
    expect(again.meta.get(`other-${(answer.written - 1) % 500}`)).toBe(String(answer.written - 1));
    expect(again.integrityProblems()).toEqual([]);
    again.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);

/** Negative, 0 or positive: versions by their numbers. */
function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((part, at) => part !== b[at]);
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}
