import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HealthConfig } from '../../../../api/types/container.ts';
import { ContainerRig } from '../../../support/fakes/container-rig.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';

let rig: ContainerRig;

beforeEach(async () => {
  rig = await ContainerRig.make();
});

afterEach(() => rig[Symbol.dispose]());

const CHECK: HealthConfig = { Test: ['CMD', 'ok'], Interval: 10e9, Timeout: 5e9, Retries: 2 };
const checked = (more: HealthConfig = {}): { Healthcheck: HealthConfig } => ({
  Healthcheck: { ...CHECK, ...more },
});

/** Status, streak and number of results. */
async function health(id: string): Promise<string> {
  const { Health } = (await rig.containers.inspect(id, { size: false })).State;
  return Health === undefined ? 'none' : `${Health.Status} ${Health.FailingStreak} ${Health.Log.length}`;
}

/** Lets the time to the next probe pass and ends it. */
async function probe(exitCode: number, afterMs = 10_000): Promise<void> {
  const before = rig.runtime.execs.length;
  await rig.clock.advance(afterMs);
  expect(rig.runtime.execs.length).toBe(before + 1);
  rig.runtime.execs.at(-1)?.end(exitCode);
  await settled();
}

test('probes at its interval, one after the other; events of a change are kept, those of probes are not', async () => {
  const id = await rig.run(checked());
  expect(await health(id)).toBe('starting 0 0');
  await rig.clock.advance(9999);
  expect(rig.runtime.execs).toEqual([]);
  await probe(0, 1);
  expect([await health(id), rig.journal.actions()]).toEqual(['healthy 0 1', ['health_status: healthy']]);
  expect(rig.journal.told.map(({ action }) => action)).toEqual([
    'exec_create: ok',
    'exec_start: ok',
    'exec_die',
  ]);
  await probe(1);
  await probe(1);
  expect([await health(id), rig.journal.actions()]).toEqual(['unhealthy 2 3', ['health_status: unhealthy']]);
});

test('a probe that takes too long is killed; the next waits for its end', async () => {
  const id = await rig.run(checked());
  await rig.clock.advance(10_000);
  const [exec] = rig.runtime.execs;
  let kills = 0;
  exec!.killTree = async () => {
    kills += 1;
  };
  await rig.clock.advance(5000);
  expect([kills, await health(id)]).toEqual([1, 'starting 1 1']);
  await rig.clock.advance(19_999);
  expect(rig.runtime.execs).toHaveLength(1);
  // Ten seconds of pause, and as many in vain for its end.
  await rig.clock.advance(1);
  expect(await health(id)).toBe('unhealthy 2 2');
  exec!.end(137);
  await probe(0);
  expect(await health(id)).toBe('healthy 0 3');
});

test('pause ends a probe without a result, unpause begins with an interval', async () => {
  const id = await rig.run(checked());
  await probe(0);
  await rig.clock.advance(10_000);
  await rig.containers.pause(id);
  await settled();
  await rig.clock.advance(60_000);
  expect([rig.runtime.execs.length, await health(id)]).toEqual([2, 'healthy 0 1']);
  await rig.containers.unpause(id);
  await probe(1);
  expect(await health(id)).toBe('healthy 1 2');
});

test('an end ends the probes, a restart begins anew', async () => {
  const id = await rig.run({
    ...checked(),
    HostConfig: { NetworkMode: 'none', RestartPolicy: { Name: 'always' } },
  });
  await probe(0);
  await rig.clock.advance(10_000);
  await rig.exit(id, 1);
  expect(await health(id)).toBe('unhealthy 0 1');
  await rig.clock.advance(100);
  await rig.until(id, 'running 0');
  expect(await health(id)).toBe('starting 0 0');
  await probe(0);
  expect(await health(id)).toBe('healthy 0 1');
});

test('a full disk hides nothing: what was found is shown and told, and stored once there is room', async () => {
  const id = await rig.run(checked());
  await rig.clock.advance(10_000);
  rig.journal.isDiskFull = true;
  rig.runtime.execs[0]?.end(0);
  await settled();
  expect([await health(id), rig.journal.actions()]).toEqual(['healthy 0 1', ['health_status: healthy']]);
  rig.journal.isDiskFull = false;
  expect(rig.table.rows.get(id)?.state).toMatchObject({ health: { status: 'healthy' } });
  expect(rig.journal.actions()).toEqual([]);
});

test('a new daemon: what was found is kept, the first probe comes within one interval', async () => {
  const id = await rig.run(checked());
  await probe(1);
  await rig.restartDaemon();
  expect(await health(id)).toBe('starting 1 1');
  const [delayMs = Infinity] = rig.clock.pendingMs;
  expect(delayMs).toBeLessThanOrEqual(10_000);
  await probe(1, delayMs);
  expect(await health(id)).toBe('unhealthy 2 2');
});

test.each([-3_600_000, 3_600_000, 315_360_000_000])(
  'R61: the wall clock set by %i ms moves no probe, no timeout and no start period',
  async (byMs) => {
    const id = await rig.run(checked({ StartPeriod: 60e9, StartInterval: 10e9 }));
    rig.clock.setWall(byMs);
    await probe(1);
    expect(await health(id)).toBe('starting 0 1');
    await rig.clock.advance(10_000);
    rig.clock.setWall(byMs);
    await rig.clock.advance(4999);
    expect(await health(id)).toBe('starting 0 1');
    await rig.clock.advance(1);
    expect(await health(id)).toBe('starting 0 2');
    for (const expected of ['starting 0 3', 'starting 0 4', 'starting 0 5', 'starting 1 5']) {
      rig.clock.setWall(byMs);
      await probe(1);
      expect(await health(id)).toBe(expected);
    }
  },
);

test('removed: nothing is left of it', async () => {
  const id = await rig.run(checked());
  await rig.clock.advance(10_000);
  await rig.containers.remove(id, { volumes: false, force: true, link: false });
  await settled();
  expect(rig.clock.pendingMs).toEqual([]);
});
