import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestDaemon } from '../support/daemon.ts';
import { needs } from '../support/needs.ts';
import { Attempt, Lanes } from './points.ts';
import type { Point } from './points.ts';
import { verbs } from './verbs.ts';
import type { Verb } from './verb.ts';

const SETTLES_MS = 5000;

/**
 * For each verb: its failpoints are listed by running it once with a trace; then, for each of them, a daemon that
 * kills itself there does the verb, a new daemon starts on what is left, the oracle must find nothing lost and nothing
 * leaked, and the verb tried again must succeed.
 */
needs(
  'root',
  'runc',
  'conmon',
  'nft',
  'ip',
  'busybox',
  'built',
)('kill -9 at each failpoint', () => {
  let lanes: Lanes;
  let kills = 0;
  let found = 0;
  beforeAll(async () => {
    lanes = await Lanes.open();
  });
  afterAll(async () => {
    console.log(`${kills} kills, ${found === 0 ? 'no' : found} differences`);
    await lanes[Symbol.asyncDispose]();
  });

  test.each(verbs)('R1, R52: $name converges after a kill at each of its failpoints', async (verb) => {
    const points = await lanes.points(verb);
    expect(points).not.toEqual([]);
    const problems = await lanes.each(points, (daemon, point) => killAt(daemon, verb, point));
    kills += points.length;
    found += problems.length;
    expect(problems).toEqual([]);
  });
});

/** Problems found; always leaves a daemon without containers. */
async function killAt(daemon: TestDaemon, verb: Verb, point: Point): Promise<string[]> {
  const attempt = new Attempt(daemon);
  await attempt.step('prepare', () => verb.prepare(daemon.http));
  daemon.arm(`${point.name}=sigkill@${point.nth}`);
  // The answer of a daemon that dies is no answer; what counts is what it leaves.
  await verb.act(daemon.http).catch(() => undefined);
  await attempt.step('die there', () => daemon.ended(5000));
  await daemon.kill9();
  daemon.arm('');
  await attempt.step('start again', () => daemon.up());
  await attempt.converged('after the kill', SETTLES_MS);
  await attempt.step('second attempt', () => verb.act(daemon.http));
  await attempt.step('its effect', () => verb.verify(daemon.http));
  await attempt.converged('after the second attempt', SETTLES_MS);
  await attempt.step('undo', () => verb.undo(daemon.http));
  await attempt.converged('after undo', SETTLES_MS);
  return attempt.problems;
}
