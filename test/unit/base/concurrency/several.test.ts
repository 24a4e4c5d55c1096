import { expect, test } from 'vitest';
import { several } from '../../../../daemon/base/concurrency/several.ts';

const never = new AbortController().signal;
const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('several: as many at a time as are allowed, answers in the order of the items', async () => {
  let [running, most] = [0, 0];
  const answers = await several([3, 1, 2, 0], { max: 2, signal: never }, async (turns) => {
    running += 1;
    most = Math.max(most, running);
    for (let left = turns; left > 0; left -= 1) {
      await turn();
    }
    running -= 1;
    return turns * 10;
  });
  expect(answers).toEqual([30, 10, 20, 0]);
  expect(most).toBe(2);
  expect(await several([], { max: 2, signal: never }, turn)).toEqual([]);
});

test('several: the first failure is thrown, after the others have ended by it', async () => {
  const ended: string[] = [];
  const begun: string[] = [];
  await expect(
    several(['fails', 'waits', 'late'], { max: 2, signal: never }, async (item, signal) => {
      begun.push(item);
      if (item === 'fails') {
        await turn();
        throw new Error('told by a test');
      }
      await aborted(signal);
      await turn();
      ended.push(item);
      throw new Error('of another');
    }),
  ).rejects.toThrow('told by a test');
  expect([begun, ended]).toEqual([['fails', 'waits'], ['waits']]);
});

test('several: what its caller gives up ends all of it', async () => {
  const stop = new AbortController();
  const waiting = several([1, 2], { max: 1, signal: stop.signal }, async (_item, signal) => {
    await aborted(signal);
    throw new Error('of another');
  });
  await turn();
  stop.abort(new Error('given up'));
  await expect(waiting).rejects.toThrow('canceled');
});
