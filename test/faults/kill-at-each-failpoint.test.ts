import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestDaemon } from '../support/engine/daemon.ts';
import { limits } from '../../daemon/base/limits.ts';
import { sleep } from '../support/engine/http.ts';
import { needsEngine } from '../support/needs.ts';
import { Attempt, Lanes } from './points.ts';
import type { Point } from './points.ts';
import { killDuringStart, startPoints } from './daemon-start.ts';
import { verbs } from './verbs/verbs.ts';
import type { Verb } from './verbs/verb.ts';

const REPEATS_MAX = 5;

/** To die there is to die before the commit, which is a failpoint of its own: tried once, not in each verb. */
const INSIDE_A_TRANSACTION = /^database\.(?!transaction\.)/;

/** Passed only where two verbs meet, or on other kernels. */
const OUT_OF_REACH: ReadonlySet<string> = new Set([
  // An image is removed while it is loaded.
  'images.collect.commit',
  // Its repository has a layer already: for `push` a way to send less.
  'images.push.mount',
  // A start after a removal that was cut off, or with a row that nobody can read.
  'network.restore.bridge',
  'database.quarantine.move',
  // The interface of a container that ended without a daemon is mostly gone by itself before the next one looks.
  'network.restore.link',
  // An init was woken and its daemon killed before it came to answer (test/faults/restart.test.ts).
  'containers.restore.again',
  // A host has another address at its daemon's start (a move without a kill: test/contract/swarm/etcd-cluster.test.ts).
  'swarm.membership.member-moved',
  // Somebody else has changed the firewall; a start rebuilds it whole (R53 in test/system/networks/firewall.test.ts).
  'network.firewall.mend',
  // Interfaces on links of the host: not every kernel has the kinds (test/vm/ipvlan.test.ts kills there).
  'network.parent.make',
  'network.parent.remove',
  'network.parent.settle',
  'network.parent.pull',
]);

/**
 * For each verb: its failpoints are listed by running it once with a trace; then, for each of them, a daemon that
 * kills itself there does the verb, a new daemon starts on what is left, the oracle must find nothing lost and nothing
 * leaked, and the verb tried again must succeed.
 */
needsEngine()('kill -9 at each failpoint', () => {
  let lanes: Lanes;
  const killedAt = new Set<string>();
  let verbsDone = 0;
  let kills = 0;
  let found = 0;
  beforeAll(async () => {
    lanes = await Lanes.open();
  });
  afterAll(async () => {
    console.log(`${kills} kills, ${found === 0 ? 'no' : found} differences`);
    await lanes[Symbol.asyncDispose]();
  });

  const note = (points: readonly Point[], problems: readonly string[]): void => {
    points.forEach(({ name }) => killedAt.add(name));
    verbsDone += 1;
    kills += points.length;
    found += problems.length;
  };

  test.each(verbs)('R1, R52: $name converges after a kill at each of its failpoints', async (verb) => {
    const passed = await lanes.points(verb);
    expect(passed).not.toEqual([]);
    const points = passed.filter(({ name }) => !INSIDE_A_TRANSACTION.test(name) || !killedAt.has(name));
    const problems = await lanes.each(points, (daemon, point) => killAt(daemon, verb, point));
    note(points, problems);
    expect(problems).toEqual([]);
  });

  test('R1: the start of a daemon converges after a kill at each of its failpoints', async () => {
    const points = await lanes.trace(startPoints);
    expect(points).not.toEqual([]);
    const problems = await lanes.each(points, killDuringStart);
    note(points, problems);
    expect(problems).toEqual([]);
  });

  test('every failpoint is one at which a daemon was killed, or has a test that names it', (context) => {
    context.skip(verbsDone <= verbs.length, 'some of the verbs were left out');
    const named = textOf(['test'], '.test.ts');
    const rest = [
      ...textOf(['api', 'daemon', 'runtime', 'storage', 'swarm'], '.ts').matchAll(
        /failpoint\(\s*'([\w.-]+)'/g,
      ),
    ]
      .map(([, name = '']) => name)
      .filter((name) => !killedAt.has(name) && !named.includes(name) && !OUT_OF_REACH.has(name));
    expect(rest).toEqual([]);
  });
});

/** Problems found; always leaves a daemon without containers. */
async function killAt(daemon: TestDaemon, verb: Verb, point: Point): Promise<string[]> {
  const attempt = new Attempt(daemon);
  await attempt.step('prepare', () => verb.prepare(daemon.http));
  daemon.arm(`${point.name}=sigkill@${point.nth}`);
  // The answer of a daemon that dies is no answer; what counts is what it leaves.
  const act = (): Promise<void> => verb.act(daemon.http).catch(() => undefined);
  await act();
  for (let again = 0; verb.repeats === true && again < REPEATS_MAX && daemon.isRunning(); again += 1) {
    await act();
    await sleep(limits.logCursorMs);
  }
  await attempt.step('die there', () => daemon.ended());
  await daemon.kill9();
  daemon.arm('');
  await attempt.step('start again', () => daemon.up());
  await attempt.converged('after the kill');
  await attempt.step('second attempt', () => verb.act(daemon.http));
  await attempt.step('its effect', () => verb.verify(daemon.http));
  await attempt.converged('after the second attempt');
  await attempt.step('undo', () => verb.undo(daemon.http));
  await attempt.converged('after undo');
  return attempt.problems;
}

/** Of all files below these folders whose name ends so. */
function textOf(folders: readonly string[], ending: string): string {
  const root = path.resolve(import.meta.dirname, '../..');
  return folders
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith(ending))
        .map((file) => readFileSync(path.join(root, folder, file), 'utf8')),
    )
    .join('\n');
}
