import { expect } from 'vitest';
import type { ContainerInspect } from '../../api/types/container.ts';
import { kill } from '../support/engine/cleanup.ts';
import type { TestDaemon } from '../support/engine/daemon.ts';
import { Attempt, traceOf } from './points.ts';
import type { Point } from './points.ts';
import { BODY, accept } from './victim.ts';

/** Steps of the start itself: starting and cleaning up containers is what other verbs are killed at. */
const OF_A_START = /^(containers\.restore|network\.(restore|prepare)|containers\.exit|database\.meta)\./;
/** An interface that has not gone by itself yet: restart.test.ts makes one that stays. */
const BY_CHANCE = 'network.restore.link';

/**
 * Of a start with all that it may find: a container that runs on, one whose end nobody has seen, one that is to be
 * started again, and two networks.
 */
export async function startPoints(daemon: TestDaemon): Promise<Point[]> {
  await prepare(daemon);
  await leave(daemon);
  const points = await traceOf(daemon, () => daemon.up());
  await undo(daemon);
  return points.filter(({ name }) => OF_A_START.test(name) && name !== BY_CHANCE);
}

/** Problems found when a daemon dies there: what the next one makes of it is what the first would have made. */
export async function killDuringStart(daemon: TestDaemon, point: Point): Promise<string[]> {
  const attempt = new Attempt(daemon);
  let pid = 0;
  await attempt.step('prepare', async () => {
    pid = await prepare(daemon);
    await leave(daemon);
  });
  daemon.arm(`${point.name}=sigkill@${point.nth}`);
  daemon.launch();
  await attempt.step('die there', () => daemon.ended());
  await daemon.kill9();
  daemon.arm('');
  await attempt.step('start again', () => daemon.up());
  await attempt.step('what runs', async () => {
    expect((await inspect(daemon, 'runs')).State).toMatchObject({ Running: true, Pid: pid });
    await expect
      .poll(async () => (await inspect(daemon, 'ended')).State)
      .toMatchObject({ Status: 'exited', ExitCode: 137 });
    await expect.poll(async () => (await inspect(daemon, 'always')).State.Running).toBe(true);
  });
  await attempt.converged('after the kill');
  await attempt.step('undo', () => undo(daemon));
  await attempt.converged('after undo');
  return attempt.problems;
}

/** Answers the process of the container that runs on. */
async function prepare({ http }: TestDaemon): Promise<number> {
  await accept(http, 'POST', '/networks/create', [201], { Name: 'blue' });
  const make = async (name: string, body: object): Promise<void> => {
    await accept(http, 'POST', `/containers/create?name=${name}`, [201], body);
    await accept(http, 'POST', `/containers/${name}/start`, [204]);
  };
  const { HostConfig } = BODY;
  await make('runs', { ...BODY, HostConfig: { ...HostConfig, NetworkMode: 'blue' } });
  const always = { NetworkMode: 'none', RestartPolicy: { Name: 'always' } };
  await make('always', { ...BODY, Volumes: {}, ExposedPorts: {}, HostConfig: always });
  await make('ended', { ...BODY, HostConfig: { ...HostConfig, PortBindings: {} } });
  const { State } = await http.ok<ContainerInspect>('GET', '/containers/runs/json');
  return State.Pid;
}

/** Ends the daemon, and then what it would have heard of. */
async function leave(daemon: TestDaemon): Promise<void> {
  const pids = [await inspect(daemon, 'always'), await inspect(daemon, 'ended')].map(
    ({ State }) => State.Pid,
  );
  await daemon.kill9();
  for (const pid of pids) {
    kill(pid);
  }
}

async function undo({ http }: TestDaemon): Promise<void> {
  for (const name of ['runs', 'always', 'ended']) {
    await accept(http, 'DELETE', `/containers/${name}?force=1&v=1`, [204, 404]);
  }
  await accept(http, 'DELETE', '/volumes/named?force=1', [204, 404]);
  await accept(http, 'DELETE', '/networks/blue', [204, 404]);
}

function inspect({ http }: TestDaemon, name: string): Promise<ContainerInspect> {
  return http.ok('GET', `/containers/${name}/json`);
}
