import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestDaemon } from '../support/engine/daemon.ts';
import { needsEngine } from '../support/needs.ts';
import { Attempt, Lanes } from './points.ts';
import type { Point } from './points.ts';
import { publicView } from './victim.ts';
import { verbs } from './verbs/verbs.ts';
import type { Verb } from './verbs/verb.ts';

/** Where a daemon can die but nothing can fail: right after a commit of SQLite, and after the last step of a start. */
const NOTHING_CAN_FAIL: ReadonlySet<string> = new Set([
  'database.transaction.committed',
  'containers.start.begun',
]);

/** A full disk. No descriptors left and a broken disk where most depends on it, by `npm run test:errors` alone. */
const ERRORS = process.env['BERTH_TEST_ERRORS'] === 'all' ? ['ENOSPC', 'EMFILE', 'EIO'] : ['ENOSPC'];
const IN_EACH_WAY: ReadonlySet<string> = new Set(['create', 'start', 'stop', 'remove']);

/**
 * For each failpoint of each verb: the step fails there once, as on a full disk. The daemon lives on, so nothing may
 * be left that only its next start would sweep, a refused verb must have had no effect, and the same verb must work
 * once the cause is gone.
 */
needsEngine()('a step that fails', () => {
  let lanes: Lanes;
  let failures = 0;
  let found = 0;
  beforeAll(async () => {
    lanes = await Lanes.open();
  });
  afterAll(async () => {
    console.log(`${failures} failed steps, ${found === 0 ? 'no' : found} differences`);
    await lanes[Symbol.asyncDispose]();
  });

  test.each(verbs)('$name: leaves nothing behind whichever of its steps fails', async (verb) => {
    const points = (await lanes.points(verb)).filter(({ name }) => !NOTHING_CAN_FAIL.has(name));
    expect(points).not.toEqual([]);
    for (const error of IN_EACH_WAY.has(verb.name) ? ERRORS : ERRORS.slice(0, 1)) {
      const problems = await lanes.each(points, (daemon, point) => failAt(daemon, verb, point, error));
      failures += points.length;
      found += problems.length;
      expect(problems, error).toEqual([]);
    }
  });
});

/** Problems found; always leaves a daemon without containers. */
async function failAt(daemon: TestDaemon, verb: Verb, point: Point, error: string): Promise<string[]> {
  const attempt = new Attempt(daemon);
  await attempt.step('prepare', () => verb.prepare(daemon.http));
  const before = await publicView(daemon.http);
  daemon.arm(`${point.name}=errno(${error})@${point.nth}`);
  const refusal = await verb.act(daemon.http).then(
    () => undefined,
    (reason: unknown) => String(reason),
  );
  if (refusal?.includes('Timeout') === true) {
    attempt.problems.push(`no answer: ${refusal}`);
  }
  await attempt.converged(`after ${refusal ?? 'success'}`);
  if (refusal !== undefined) {
    await attempt.step(`effect after ${refusal}`, () => verb.checkRefused(daemon.http, before));
  }
  daemon.arm('');
  await attempt.step(`second attempt after ${refusal ?? 'success'}`, () => verb.act(daemon.http));
  await attempt.step('its effect', () => verb.verify(daemon.http));
  await attempt.converged('after the second attempt');
  await attempt.step('undo', () => verb.undo(daemon.http));
  await attempt.converged('after undo');
  if (!daemon.isRunning()) {
    attempt.problems.push(`the daemon ended:\n${daemon.log().slice(-3000)}`);
    await daemon.up();
  }
  return attempt.problems;
}
