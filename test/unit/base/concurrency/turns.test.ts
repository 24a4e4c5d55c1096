import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Turns } from '../../../../daemon/base/concurrency/turns.ts';

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

test('inPieces: the first piece at once, each of the others in a turn of its own', async () => {
  const pieces: number[][] = [];
  const all = new Turns().inPieces([1, 2, 3, 4, 5], 2, (piece) => pieces.push([...piece]));
  expect(pieces).toEqual([[1, 2]]);
  await turn();
  expect(pieces).toEqual([
    [1, 2],
    [3, 4],
  ]);
  await all;
  expect(pieces.flat()).toEqual([1, 2, 3, 4, 5]);
});
