import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { IdleThreads, Lane } from '../../../../storage/layers/workers/worker-threads.ts';

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
  const lane = new Lane(1, idle);
  const first = await lane.acquire();
  lane.release(first);
  expect(await lane.acquire()).toBe(first);
  lane.release(first);
  await first.end();
  const second = await lane.acquire();
  expect([second === first, second.ended]).toEqual([false, false]);
  lane.release(second);
});

test('layer threads: one goes from one kind of work to another', async () => {
  const [one, other] = [new Lane(1, idle), new Lane(1, idle)];
  const thread = await one.acquire();
  one.release(thread);
  expect(await other.acquire()).toBe(thread);
  other.release(thread);
});

test('layer threads: who waits in a lane gets its thread, or a new one where that died', async () => {
  const lane = new Lane(1, idle);
  const first = await lane.acquire();
  const waiting = [lane.acquire(), lane.acquire()];
  lane.release(first);
  expect(await waiting[0]).toBe(first);
  await first.end();
  lane.release(first);
  const second = await waiting[1];
  expect(second?.ended).toBe(false);
  await second?.end();
});

test('layer threads: after a pause there is one that has done nothing yet, and no other', async () => {
  const lane = new Lane(2, idle);
  idle.rest();
  vi.advanceTimersByTime(limits.layerWorkerIdleMs);
  await vi.waitFor(() => expect(started).toBe(1));
  const first = await lane.acquire();
  expect([first.isFresh, started]).toEqual([true, 1]);
  first.isFresh = false;
  lane.release(first);
  vi.advanceTimersByTime(limits.layerWorkerIdleMs);
  await vi.waitFor(() => expect(first.ended).toBe(true));
  const second = await lane.acquire();
  expect([second === first, second.isFresh]).toEqual([false, true]);
  await vi.waitFor(() => expect(started).toBe(2));
  lane.release(second);
  vi.advanceTimersByTime(limits.layerWorkerIdleMs);
  expect([await lane.acquire(), started]).toEqual([second, 2]);
  lane.release(second);
});
