import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { awaitedOwners } from '../../../../daemon/containers/lifecycle/start-order.ts';
import { ContainerRig } from '../../../support/fakes/container-rig.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';
import { waitFor } from '../../../support/wait-for.ts';

let rig: ContainerRig;

beforeEach(async () => {
  rig = await ContainerRig.make();
});

afterEach(() => rig[Symbol.dispose]());

const policy = (Name: string): { HostConfig: object } => ({
  HostConfig: { NetworkMode: 'none', RestartPolicy: { Name } },
});

test('a running container is taken over: same process, network kept, exit seen', async () => {
  const id = await rig.run();
  const before = await rig.containers.inspect(id, { size: false });
  await rig.restartDaemon();
  expect(await rig.containers.inspect(id, { size: false })).toEqual(before);
  expect([rig.world.calls[0], rig.world.mounted.size]).toEqual(['restore 1', 1]);
  await rig.exit(id, 7);
  expect([await rig.status(id), rig.journal.actions()]).toEqual(['exited 7', ['die 7', 'disconnect']]);
});

test('one that waits to be let go is let go', async () => {
  const id = await rig.create();
  const begin = rig.runtime.begin.bind(rig.runtime);
  rig.runtime.begin = () => new Promise(() => undefined);
  void rig.containers.start(id, {});
  await rig.until(id, 'running 0');
  expect(rig.runtime.isWaiting(id)).toBe(true);
  rig.runtime.begin = begin;
  await rig.restartDaemon();
  expect([rig.runtime.isWaiting(id), await rig.status(id)]).toEqual([false, 'running 0']);
});

test('one that ended meanwhile has its true exit code and time, and one die', async () => {
  const id = await rig.run();
  rig.containers.close();
  rig.runtime.exit(id, 9);
  const { finishedAtNano } = rig.runtime.records.get(id)!;
  await settled();
  await rig.restartDaemon();
  const { State } = await rig.containers.inspect(id, { size: false });
  expect([State.ExitCode, State.FinishedAt.slice(-10, -1)]).toEqual([9, String(finishedAtNano).slice(-9)]);
  expect(rig.journal.actions()).toEqual(['die 9', 'disconnect']);
  expect([rig.world.mounted.size, rig.runtime.records.size]).toEqual([0, 0]);
});

test('one of another boot ended with 255, though its pid lives', async () => {
  const id = await rig.run();
  await rig.restartDaemon('boot-2');
  expect(await rig.status(id)).toBe('exited 255');
});

test('a --rm container that ended meanwhile is gone with everything', async () => {
  const id = await rig.run({ HostConfig: { NetworkMode: 'none', AutoRemove: true } });
  rig.containers.close();
  rig.runtime.exit(id, 0);
  await settled();
  await rig.restartDaemon();
  expect(rig.journal.actions()).toEqual(['die 0', 'disconnect', 'destroy']);
  expect([rig.table.rows.size, rig.world.rootfsIds.size]).toEqual([0, 0]);
});

test('one that starts with the daemon but needs who is away is tried again, unless it is stopped', async () => {
  const ids = [await rig.run(policy('always')), await rig.run(policy('always'))];
  rig.world.unavailable.add('open');
  await rig.restartDaemon('boot-2');
  await rig.clock.advance(1_000);
  await settled();
  expect(await rig.status(ids[0] ?? '')).toMatch(/^exited/);
  await rig.containers.remove(ids[1] ?? '', { volumes: false, force: true, link: false });
  await rig.clock.advance(5_000);
  await settled();
  expect(await rig.status(ids[0] ?? '')).toMatch(/^exited/);
  rig.world.unavailable.clear();
  await rig.clock.advance(5_000);
  await rig.until(ids[0] ?? '', 'running 0');
  expect(rig.table.rows.size).toBe(1);
});

test('a removal that was begun is finished', async () => {
  const id = await rig.create();
  const remove = rig.world.rootfs.remove.bind(rig.world.rootfs);
  rig.world.rootfs.remove = () => new Promise(() => undefined);
  void rig.containers.remove(id, { volumes: false, force: false, link: false });
  await settled();
  expect(await rig.status(id)).toBe('removing 0');
  rig.world.rootfs.remove = remove;
  await rig.restartDaemon();
  expect([rig.table.rows.size, rig.world.rootfsIds.size, rig.journal.actions()]).toEqual([
    0,
    0,
    ['create', 'destroy'],
  ]);
});

test('what a daemon left of a start that was never committed is swept', async () => {
  const id = await rig.create({ OpenStdin: true });
  rig.runtime.onLaunch = () => undefined;
  rig.runtime.attach = () => new Promise(() => undefined);
  await rig.containers.attach(id, { logs: false, stream: true, stdin: true, stdout: true, stderr: true });
  void rig.containers.start(id, {});
  await waitFor(() => expect([rig.runtime.runs.size, rig.world.mounted.size]).toEqual([1, 1]));
  await rig.restartDaemon();
  expect([rig.runtime.runs.size, rig.world.mounted.size, rig.world.openSandboxes.size]).toEqual([0, 0, 0]);
  expect(await rig.status(id)).toBe('created 0');
});

test('a row that cannot be read stops nobody, and its files are spared', async () => {
  const id = await rig.create();
  const other = await rig.create();
  rig.table.setState(id, { status: 'nonsense' });
  await rig.restartDaemon();
  expect([await rig.status(other), rig.world.rootfsIds.has(id)]).toEqual(['created 0', true]);
});

describe('restart policies over a restart of the daemon', () => {
  test.each([
    ['always', true, 'running 0'],
    ['always', false, 'running 0'],
    ['unless-stopped', true, 'exited 143'],
    ['no', true, 'exited 143'],
  ])('%s, stopped by a person %j: %s', async (name, isStopped, expected) => {
    const id = await rig.run(policy(name));
    if (isStopped) {
      await rig.containers.stop(id, {});
    } else {
      rig.containers.close();
      rig.runtime.exit(id, 1);
      await settled();
    }
    await rig.restartDaemon();
    await rig.clock.advance(100);
    await rig.until(id, expected);
  });

  test('a stop that the daemon did not survive is still a stop', async () => {
    rig.runtime.fatalSignals = new Set();
    const id = await rig.run(policy('always'));
    void rig.containers.stop(id, { timeoutS: -1 });
    await settled();
    rig.containers.close();
    rig.runtime.exit(id, 0);
    await settled();
    await rig.restartDaemon();
    expect(await rig.status(id)).toBe('exited 0');
  });

  test('R5: a stop that the daemon did not survive is finished by the next one', async () => {
    rig.runtime.fatalSignals = new Set([9]);
    const id = await rig.run(policy('always'));
    void rig.containers.stop(id, { timeoutS: 30 });
    await settled();
    rig.journal.events.length = 0;
    await rig.restartDaemon();
    expect(await rig.status(id)).toBe('running 0');
    await rig.clock.advance(29_000);
    expect(await rig.status(id)).toBe('running 0');
    await rig.clock.advance(1000);
    await rig.until(id, 'exited 137');
    await settled();
    expect(rig.journal.actions()).toEqual(['kill 15', 'kill 9', 'die 137', 'disconnect', 'stop']);
  });

  test('an attempt that was due is made', async () => {
    const id = await rig.run(policy('always'));
    await rig.exit(id, 1);
    await rig.restartDaemon();
    expect(await rig.status(id)).toBe('restarting 1');
    await rig.clock.advance(100);
    await rig.until(id, 'running 0');
  });
});

const guestOf = (donor: string, Name: string): { HostConfig: object } => ({
  HostConfig: { NetworkMode: `container:${donor}`, RestartPolicy: { Name } },
});

describe('containers that join another one', () => {
  const policies = ['always', 'unless-stopped'];

  test.each(policies)('%s: come up after it when the host was down', async (name) => {
    const donor = await rig.run(policy(name));
    // Newer ones come first in the list, and so would start first.
    const guest = await rig.run(guestOf(donor, name));
    const guestOfGuest = await rig.run(guestOf(guest, name));
    await rig.restartDaemon('boot-2');
    await rig.clock.advance(100);
    await rig.until(guestOfGuest, 'running 0');
    expect([await rig.status(donor), await rig.status(guest)]).toEqual(['running 0', 'running 0']);
  });

  test('come up after it when all had ended before', async () => {
    const donor = await rig.run(policy('always'));
    const guest = await rig.run(guestOf(donor, 'always'));
    await rig.containers.stop(guest, {});
    await rig.containers.stop(donor, {});
    let launches = 0;
    let isFirst = true;
    rig.runtime.onLaunch = async ({ id }) => {
      launches += 1;
      isFirst &&= launches > 1 || id === donor;
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    };
    await rig.restartDaemon();
    await rig.until(guest, 'running 0');
    expect([launches, isFirst]).toEqual([2, true]);
  });

  test('restarted by policy: wait for it, however long its back-off is', async () => {
    const donor = await rig.run(policy('always'));
    for (const delayMs of [100, 200, 400]) {
      await rig.exit(donor, 1);
      await rig.clock.advance(delayMs);
      await rig.until(donor, 'running 0');
    }
    const guest = await rig.run(guestOf(donor, 'always'));
    await rig.exit(donor, 1);
    await rig.exit(guest, 1);
    await rig.clock.advance(700);
    expect([await rig.status(donor), await rig.status(guest)]).toEqual(['restarting 1', 'restarting 1']);
    await rig.clock.advance(100);
    await rig.until(guest, 'running 0');
  });

  test('wait no longer when it is stopped: they say why they cannot start', async () => {
    const donor = await rig.run(policy('always'));
    const guest = await rig.run(guestOf(donor, 'always'));
    await rig.exit(donor, 1);
    await rig.exit(guest, 1);
    await rig.containers.stop(donor, {});
    await rig.clock.advance(100);
    await rig.until(guest, `exited 128: cannot join network of a non running container: ${donor}`);
  });

  test('stopped while they wait: stay stopped', async () => {
    const donor = await rig.run(policy('always'));
    await rig.exit(donor, 1);
    await rig.clock.advance(100);
    await rig.until(donor, 'running 0');
    const guest = await rig.run(guestOf(donor, 'always'));
    await rig.exit(donor, 1);
    await rig.exit(guest, 1);
    await rig.clock.advance(100);
    await rig.containers.stop(guest, {});
    await rig.clock.advance(1000);
    expect([await rig.status(donor), await rig.status(guest)]).toEqual(['running 0', 'exited 1']);
  });

  test.each<[string, Record<string, string[]>, string[]]>([
    ['none', { a: [] }, []],
    ['one', { a: ['b'], b: ['c'], c: [] }, ['b']],
    ['itself', { a: ['a'] }, []],
    ['a circle of two', { a: ['b', 'x'], b: ['a'] }, ['x']],
    ['a circle of three', { a: ['b'], b: ['c'], c: ['a'] }, []],
    ['into a circle of others', { a: ['b'], b: ['c'], c: ['b'] }, ['b']],
  ])('those waited for: %s', (_title, needs, expected) => {
    expect(awaitedOwners('a', (id) => needs[id] ?? [])).toEqual(expected);
  });
});

describe('R61: the wall clock is set', () => {
  test.each([-3_600_000, 3_600_000, 315_360_000_000, -1_700_000_000_000])(
    'by %i ms: back-off, its reset and stop time-outs keep their time',
    async (byMs) => {
      rig.runtime.fatalSignals = new Set([9]);
      const id = await rig.run(policy('always'));
      rig.clock.setWall(byMs);
      await rig.exit(id, 1);
      await rig.clock.advance(99);
      expect(await rig.status(id)).toBe('restarting 1');
      await rig.clock.advance(1);
      await rig.until(id, 'running 0');
      rig.clock.setWall(byMs);
      await rig.exit(id, 1);
      // Not up for ten seconds: the delay doubles, whatever the wall clock makes of it.
      await rig.clock.advance(199);
      expect(await rig.status(id)).toBe('restarting 1');
      rig.clock.setWall(-byMs);
      await rig.clock.advance(1);
      await rig.until(id, 'running 0');
      await rig.clock.advance(10_000);
      await rig.exit(id, 1);
      await rig.clock.advance(100);
      await rig.until(id, 'running 0');
      const stopped = rig.containers.stop(id, { timeoutS: 5 });
      await settled();
      rig.clock.setWall(byMs);
      await rig.clock.advance(4999);
      expect(await rig.status(id)).toBe('running 0');
      await rig.clock.advance(1);
      await stopped;
      expect(await rig.status(id)).toBe('exited 137');
    },
  );

  test('while no daemon runs: an attempt is made after its own delay at the latest', async () => {
    const id = await rig.run(policy('always'));
    await rig.exit(id, 1);
    rig.clock.setWall(-3_600_000);
    await rig.restartDaemon();
    await rig.clock.advance(100);
    await rig.until(id, 'running 0');
  });
});
