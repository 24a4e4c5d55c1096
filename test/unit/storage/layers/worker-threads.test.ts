import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { IdleThreads, ThreadPool } from '../../../../storage/layers/workers/worker-threads.ts';

let idle: IdleThreads;
let started: number;
const count = (): void => {
  started += 1;
};

beforeEach(() => {
  started = 0;
  process.on('worker', count);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  idle = new IdleThreads();
});

afterEach(async () => {
  vi.useRealTimers();
  process.off('worker', count);
  await idle.close();
});

test('layer threads: one that died while it was idle is not handed out, and makes room for another', async () => {
  const pool = new ThreadPool(1, idle);
  const first = await pool.acquire();
  pool.release(first);
  expect(await pool.acquire()).toBe(first);
  pool.release(first);
  await first.end();
  const second = await pool.acquire();
  expect([second === first, second.ended]).toEqual([false, false]);
  pool.release(second);
});

test('layer threads: one goes from one kind of work to another', async () => {
  const [one, other] = [new ThreadPool(1, idle), new ThreadPool(1, idle)];
  const thread = await one.acquire();
  one.release(thread);
  expect(await other.acquire()).toBe(thread);
  other.release(thread);
});

test('layer threads: who waits in a pool gets its thread, or a new one where that died', async () => {
  const pool = new ThreadPool(1, idle);
  const first = await pool.acquire();
  const waiting = [pool.acquire(), pool.acquire()];
  pool.release(first);
  expect(await waiting[0]).toBe(first);
  await first.end();
  pool.release(first);
  const second = await waiting[1];
  expect(second?.ended).toBe(false);
  await second?.end();
});

test('layer threads: after a pause there is one that has done nothing yet, and no other', async () => {
  const pool = new ThreadPool(2, idle);
  idle.rest();
  vi.advanceTimersByTime(limits.layerWorkerIdleMs);
  await expect.poll(() => started).toBe(1);
  const first = await pool.acquire();
  expect([first.isFresh, started]).toEqual([true, 1]);
  first.isFresh = false;
  pool.release(first);
  vi.advanceTimersByTime(limits.layerWorkerIdleMs);
  await expect.poll(() => first.ended).toBe(true);
  const second = await pool.acquire();
  expect([second === first, second.isFresh]).toEqual([false, true]);
  await expect.poll(() => started).toBe(2);
  pool.release(second);
  vi.advanceTimersByTime(limits.layerWorkerIdleMs);
  expect([await pool.acquire(), started]).toEqual([second, 2]);
  pool.release(second);
});

test('layer threads: those that will be needed are started before, and end where they are not', async () => {
  const pool = new ThreadPool(2, idle);
  idle.expect(2);
  idle.expect(2);
  await expect.poll(() => started).toBe(2);
  const taken = [await pool.acquire(), await pool.acquire()];
  expect([taken.map(({ isFresh }) => isFresh), started]).toEqual([[true, true], 2]);
  taken.forEach((thread) => pool.release(thread));
  vi.advanceTimersByTime(limits.layerWorkerIdleMs);
  await expect.poll(() => taken.filter(({ ended }) => ended).length).toBe(1);
  await idle.close();
  idle.expect(2);
  expect(started).toBe(2);
});
