import { expect, test } from 'vitest';
import { Due } from '../../../../swarm/leader/due.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';

/** At which times it was due, when something changes at these times. */
async function dueAt(changesMs: number[], alarmMs?: number): Promise<number[]> {
  const clock = new ManualClock();
  using due = new Due(clock);
  const times: number[] = [];
  const listen = async (): Promise<never> => {
    for (;;) {
      await due.wait();
      times.push(clock.monotonicMs());
    }
  };
  // It never ends, nor fails.
  void listen().catch((error: unknown) => expect(error).toBeUndefined());
  await clock.advance(1_000);
  if (alarmMs !== undefined) {
    due.within(alarmMs);
  }
  for (const [index, atMs] of changesMs.entries()) {
    await clock.advance(atMs - (changesMs[index - 1] ?? 0));
    due.request();
  }
  await clock.advance(10_000);
  return times.map((ms) => ms - 1_000);
}

test.each<[string, number[], number | undefined, number[]]>([
  ['the first change after a quiet time hardly waits', [100], undefined, [105]],
  ['what comes with it is decided on with it', [100, 103], undefined, [105]],
  ['the next ones wait for each other', [100, 110, 140], undefined, [105, 190]],
  [
    'but not for ever',
    Array.from({ length: 60 }, (_, index) => 100 + 40 * index),
    undefined,
    [105, 1140, 2140, 2510],
  ],
  ['a set time comes also when nothing changes', [], 700, [700]],
  ['changes come before it', [100], 700, [105]],
])('a pass: %s', async (_what, changes, alarm, expected) => {
  expect((await dueAt(changes, alarm)).slice(0, expected.length)).toEqual(expected);
});
