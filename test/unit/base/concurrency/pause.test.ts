import { expect, test } from 'vitest';
import { pause } from '../../../../daemon/base/concurrency/pause.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';

function watched(work: Promise<void>): { isOver: boolean } {
  const seen = { isOver: false };
  void work.then(() => (seen.isOver = true));
  return seen;
}

test('a pause ends after its time', async () => {
  const clock = new ManualClock();
  const seen = watched(pause(clock, 1_000, new AbortController().signal));
  await clock.advance(999);
  expect(seen.isOver).toBe(false);
  await clock.advance(1);
  expect(seen.isOver).toBe(true);
});

test('a pause ends with its signal, also with one that came before', async () => {
  const clock = new ManualClock();
  const ended = new AbortController();
  const seen = watched(pause(clock, 1_000, ended.signal));
  ended.abort();
  await settled();
  expect(seen.isOver).toBe(true);
  await pause(clock, 1_000, ended.signal);
});
