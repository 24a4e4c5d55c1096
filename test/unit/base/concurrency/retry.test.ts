import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { persistently } from '../../../../daemon/base/concurrency/retry.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';

test('a step is taken again until it succeeds, and not after', async () => {
  const clock = new ManualClock();
  const outcomes = ['ENOSPC', 'ENOSPC', 'done'];
  const result = persistently(clock, () => {
    const outcome = outcomes.shift();
    if (outcome === 'ENOSPC') {
      throw new Error(outcome);
    }
    return outcome;
  });
  await clock.advance(1000);
  expect([await result, outcomes]).toEqual(['done', []]);
});

test('a step that never succeeds rejects with its last failure', async () => {
  const clock = new ManualClock();
  let attempts = 0;
  const result = persistently(clock, async () => {
    attempts += 1;
    throw new Error(`attempt ${attempts}`);
  });
  const total = limits.retryDelaysMs.length + 1;
  const rejection = expect(result).rejects.toThrow(`attempt ${total}`);
  await settled();
  await clock.advance(10_000);
  await rejection;
  expect(attempts).toBe(total);
});
