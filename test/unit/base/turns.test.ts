import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Turns } from '../../../daemon/base/turns.ts';

test('turns: one waiter a turn of the event loop, in the order in which they asked', async () => {
  const turns = new Turns();
  const done: number[] = [];
  for (const number of [1, 2, 3]) {
    void turns.next().then(() => done.push(number));
  }
  const seen: number[][] = [];
  while (done.length < 3) {
    await turn();
    seen.push([...done]);
  }
  expect(seen).toEqual([[1], [1, 2], [1, 2, 3]]);
});
