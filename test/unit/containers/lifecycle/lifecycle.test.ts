import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { invalidArgument } from '../../../../daemon/base/errors.ts';
import { ContainerRig } from '../../../support/fakes/container-rig.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';

let rig: ContainerRig;

beforeEach(async () => {
  rig = await ContainerRig.make();
});

afterEach(() => rig[Symbol.dispose]());

/** Lets the time pass in which a clean-up step is taken again. */
async function allRetries(): Promise<void> {
  await settled();
  await rig.clock.advance(2000);
}

const never = (): AbortSignal => new AbortController().signal;
const wait = async (
  id: string,
  condition: 'not-running' | 'next-exit' | 'removed' = 'not-running',
): Promise<unknown> => {
  const { done } = await rig.containers.wait(id, { condition, signal: never() });
  return done;
};
const directory = (): string => join(rig.directory, 'containers');
/** What of a container exists outside the database. */
const remains = (): unknown => ({
  directories: existsSync(directory()) ? readdirSync(directory()) : [],
  mounts: rig.world.mounted.size,
  sandboxes: rig.world.openSandboxes.size,
  runs: rig.runtime.runs.size,
  records: rig.runtime.records.size,
});
const nothing = { directories: [], mounts: 0, sandboxes: 0, runs: 0, records: 0 };

test('a whole life: one commit to create, one to start, one to end, and nothing left after removal', async () => {
  const id = await rig.create({}, '/web');
  await rig.containers.start('web', {});
  expect(await rig.status(id)).toBe('running 0');
  const result = wait(id);
  await rig.exit(id, 3);
  expect(await result).toEqual({ StatusCode: 3 });
  expect(await rig.status(id)).toBe('exited 3');
  expect(rig.world.mounted.size + rig.world.openSandboxes.size + rig.runtime.records.size).toBe(0);
  await rig.containers.remove(id.slice(0, 12), { volumes: false, force: false, link: false });
  expect(rig.journal.actions()).toEqual(['create', 'connect', 'start', 'die 3', 'disconnect', 'destroy']);
  // Synced before the answer: create and removing. The others are on disk a moment later.
  expect(rig.journal.commits).toEqual([true, false, false, true, false]);
  expect(remains()).toEqual(nothing);
  await expect(rig.containers.inspect('web', { size: false })).rejects.toThrow('No such container: web');
});

test('references: id, name, unique prefix; an ambiguous one says so', async () => {
  const ids = await Promise.all([...Array(17)].map(() => rig.create()));
  const shared = '0123456789abcdef'
    .split('')
    .find((digit) => ids.filter((id) => id.startsWith(digit)).length > 1);
  await expect(rig.containers.inspect(shared!, { size: false })).rejects.toThrow(
    `multiple IDs found with provided prefix: ${shared}`,
  );
  await expect(rig.containers.inspect('zzz', { size: false })).rejects.toThrow('No such container: zzz');
});

test('names: a second container of a name is refused with the words clients look for', async () => {
  const id = await rig.create({}, 'web');
  const other = await rig.create({}, 'other');
  const text =
    `Conflict. The container name "/web" is already in use by container "${id}". ` +
    'You have to remove (or rename) that container to be able to reuse that name.';
  await expect(rig.create({}, 'web')).rejects.toThrow(text);
  await expect(rig.containers.rename(other, 'web')).rejects.toThrow(text);
  await rig.containers.rename(other, '/third');
  expect((await rig.containers.inspect('third', { size: false })).Name).toBe('/third');
  await expect(rig.containers.rename('third', 'third')).rejects.toThrow('same name as its current name');
  expect(await rig.create({}, 'other')).toMatch(/^[0-9a-f]{64}$/);
});

describe('create', () => {
  const steps = ['validate', 'rootfs.create', 'ensure', 'reserveAnonymous'];
  test.each(steps)('leaves nothing when %s fails', async (step) => {
    const volumes = { Volumes: { '/data': {} }, HostConfig: { Binds: ['named:/named'] } };
    rig.world.failing.add(step);
    await expect(rig.create(volumes, 'web')).rejects.toThrow(`${step} failed`);
    rig.world.failing.clear();
    expect([remains(), rig.world.rootfsIds.size]).toEqual([nothing, 0]);
    expect([rig.journal.actions(), rig.world.volumeNames.size, rig.table.rows.size]).toEqual([[], 0, 0]);
    await rig.create({}, 'web');
  });

  test('leaves nothing when the disk refuses the row', async () => {
    rig.journal.isDiskFull = true;
    await expect(rig.create({ Volumes: { '/data': {} } }, 'web')).rejects.toThrow('disk is full');
    expect([rig.world.rootfsIds.size, rig.world.volumeNames.size, rig.table.rows.size]).toEqual([0, 0, 0]);
  });

  test('answers 404 for an image that is not there', async () => {
    await expect(rig.create({ Image: 'missing' })).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('start', () => {
  test.each([
    ['overlay', 128],
    ['open', 128],
    ['populate', 128],
  ])('goes back when %s fails', async (step, exitCode) => {
    const id = await rig.create({ Volumes: { '/data': {} } });
    rig.world.failing.add(step);
    await expect(rig.containers.start(id, {})).rejects.toThrow(`${step} failed`);
    expect(await rig.status(id)).toBe(`created ${exitCode}: ${step} failed`);
    expect([rig.world.mounted.size, rig.world.openSandboxes.size, rig.runtime.runs.size]).toEqual([0, 0, 0]);
    rig.world.failing.clear();
    await rig.containers.start(id, {});
    expect(await rig.status(id)).toBe('running 0');
    expect(rig.journal.actions()).toEqual(['create', 'connect', 'start']);
  });

  test('keeps 127 and the text when the command is not there, and removes a --rm container', async () => {
    rig.runtime.onLaunch = () => {
      throw invalidArgument('exec: "nope": executable file not found in $PATH', {
        details: { exitCode: 127 },
      });
    };
    const id = await rig.create();
    await expect(rig.containers.start(id, {})).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await rig.status(id)).toBe('created 127: exec: "nope": executable file not found in $PATH');
    const automatic = await rig.create({ HostConfig: { NetworkMode: 'none', AutoRemove: true } });
    await expect(rig.containers.start(automatic, {})).rejects.toThrow('not found in $PATH');
    await expect(rig.status(automatic)).rejects.toThrow('No such container');
  });

  test('fails when init is killed before its command was started, and leaves nothing', async () => {
    const id = await rig.create({ OpenStdin: true });
    rig.runtime.onLaunch = () => {
      setImmediate(() => rig.runtime.exit(id, 137));
    };
    const attach = rig.runtime.attach.bind(rig.runtime);
    rig.runtime.attach = async (target) => {
      await settled();
      return attach(target);
    };
    await rig.containers.attach(id, { logs: false, stream: true, stdin: true, stdout: true, stderr: true });
    await expect(rig.containers.start(id, {})).rejects.toThrow('ended before its command was started');
    await settled();
    expect([rig.world.mounted.size, rig.runtime.records.size]).toEqual([0, 0]);
    expect(rig.journal.actions()).toEqual(['create', 'attach']);
  });

  test('of a running container is not modified, at once or after waiting for another start', async () => {
    const id = await rig.create();
    const starts = await Promise.allSettled([1, 2, 3].map(() => rig.containers.start(id, {})));
    expect(starts.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    await expect(rig.containers.start(id, {})).rejects.toMatchObject({ code: 'not_modified' });
  });

  test('survives a full disk: the container is back where it was', async () => {
    const id = await rig.create();
    rig.journal.isDiskFull = true;
    await expect(rig.containers.start(id, {})).rejects.toThrow('disk is full');
    expect(await rig.status(id)).toMatch(/^created 128/);
    expect([rig.world.mounted.size, rig.runtime.runs.size]).toEqual([0, 0]);
    rig.journal.isDiskFull = false;
    await rig.containers.start(id, {});
  });
});

describe('exit', () => {
  test('tells of an OOM kill before the end, and of each end once', async () => {
    const id = await rig.run();
    await rig.exit(id, 137, { oomKilled: true });
    rig.runtime.tell({ id, exitCode: 137, finishedAtNano: 5n, oomKilled: true });
    expect(rig.journal.actions()).toEqual(['oom', 'die 137', 'disconnect']);
    expect((await rig.containers.inspect(id, { size: false })).State.OOMKilled).toBe(true);
  });

  test('that the disk refuses keeps its record, and the next daemon settles it', async () => {
    const id = await rig.run();
    rig.journal.isDiskFull = true;
    await rig.exit(id, 5);
    expect(await rig.status(id)).toBe('exited 5');
    await allRetries();
    expect(rig.runtime.records.size).toBe(1);
    expect(rig.journal.actions()).toEqual(['die 5', 'disconnect']);
    expect(rig.table.rows.get(id)?.state).toMatchObject({ status: 'running' });
    await rig.restartDaemon();
    expect(await rig.status(id)).toBe('exited 5');
    expect(rig.table.rows.get(id)?.state).toMatchObject({ status: 'exited', exitCode: 5 });
    expect([rig.runtime.records.size, rig.journal.actions()]).toEqual([0, ['die 5', 'disconnect']]);
  });

  test('that the disk refuses for a moment is stored, told and released a moment later', async () => {
    const id = await rig.run();
    rig.journal.actions();
    rig.journal.isDiskFull = true;
    const result = wait(id);
    await rig.exit(id, 5);
    expect(await result).toEqual({ StatusCode: 5 });
    rig.journal.isDiskFull = false;
    await allRetries();
    expect(rig.table.rows.get(id)?.state).toMatchObject({ status: 'exited', exitCode: 5 });
    expect([remains(), rig.journal.actions()]).toEqual([
      { ...nothing, directories: [id] },
      ['die 5', 'disconnect'],
    ]);
  });

  test('gives back what resists for a moment', async () => {
    const id = await rig.run();
    rig.world.failing.add('unmount');
    await rig.exit(id, 0);
    expect(remains()).toMatchObject({ mounts: 1 });
    rig.world.failing.clear();
    await allRetries();
    expect(remains()).toEqual({ ...nothing, directories: [id] });
  });

  test('of a --rm container removes it with its anonymous volumes', async () => {
    const id = await rig.run({
      Volumes: { '/data': {} },
      HostConfig: { NetworkMode: 'none', AutoRemove: true },
    });
    const removed = wait(id, 'removed');
    await rig.exit(id, 4);
    expect(await removed).toEqual({ StatusCode: 4 });
    expect(rig.world.volumeNames.size).toBe(0);
    expect(remains()).toEqual(nothing);
  });
});

describe('stop', () => {
  test("signals, waits, and tells in dockerd's order", async () => {
    const id = await rig.run();
    await rig.containers.stop(id, {});
    expect(await rig.status(id)).toBe('exited 143');
    expect(rig.journal.actions()).toEqual(['kill 15', 'die 143', 'disconnect', 'stop']);
    await expect(rig.containers.stop(id, {})).rejects.toMatchObject({ code: 'not_modified' });
  });

  test('kills after its time, and gives up on a process that nothing ends', async () => {
    rig.runtime.fatalSignals = new Set();
    const stuck = await rig.run();
    const stopped = expect(rig.containers.stop(stuck, { timeoutS: 3 })).rejects.toThrow(
      'did not receive an exit event',
    );
    await settled();
    await rig.clock.advance(2_999);
    expect(rig.runtime.calls.filter((call) => call.startsWith('signal'))).toEqual(['signal 15']);
    await rig.clock.advance(1);
    expect(rig.runtime.calls.filter((call) => call.startsWith('signal'))).toEqual(['signal 15', 'signal 9']);
    const other = await rig.run();
    expect(await rig.status(other)).toBe('running 0');
    await rig.clock.advance(10_000);
    await stopped;
    expect(await rig.status(stuck)).toBe('running 0');
  });

  test('with a negative time waits for ever', async () => {
    rig.runtime.fatalSignals = new Set();
    const id = await rig.run();
    const stopped = rig.containers.stop(id, { timeoutS: -1 });
    await settled();
    expect(rig.clock.pendingMs).toEqual([]);
    await rig.exit(id, 0);
    await stopped;
  });
});

describe('kill', () => {
  test("of what does not run is a conflict in dockerd's words", async () => {
    const id = await rig.create({}, 'web');
    await expect(rig.containers.kill('web', {})).rejects.toThrow(
      `Cannot kill container: web: Container ${id} is not running`,
    );
  });

  test('with another signal leaves the restart policy alone', async () => {
    const id = await rig.run({ HostConfig: { NetworkMode: 'none', RestartPolicy: { Name: 'always' } } });
    await rig.containers.kill(id, { signal: 'HUP' });
    await rig.exit(id, 1);
    expect(await rig.status(id)).toBe('restarting 1');
  });
});

describe('restart policy', () => {
  const always = { HostConfig: { NetworkMode: 'none', RestartPolicy: { Name: 'always' } } };

  test('doubles its delay, counts, and a long run resets the delay', async () => {
    const id = await rig.run(always);
    const delays: number[][] = [];
    for (const upTimeMs of [5, 5, 5, 20_000]) {
      await rig.clock.advance(upTimeMs);
      await rig.exit(id, 1);
      delays.push(rig.clock.pendingMs);
      await rig.clock.advance(delays.at(-1)?.[0] ?? 0);
      await rig.until(id, 'running 0');
    }
    expect(delays.flat()).toEqual([100, 200, 400, 100]);
    expect((await rig.containers.inspect(id, { size: false })).RestartCount).toBe(4);
  });

  test('a stop during the back-off keeps it stopped', async () => {
    const id = await rig.run(always);
    const over = wait(id, 'next-exit');
    await rig.exit(id, 1);
    await expect(rig.containers.start(id, {})).rejects.toMatchObject({ code: 'not_modified' });
    await rig.containers.stop(id, {});
    expect(await over).toEqual({ StatusCode: 1 });
    await rig.clock.advance(120_000);
    expect([await rig.status(id), rig.clock.pendingMs]).toEqual(['exited 1', []]);
  });

  test('two restarts of a --rm container at once leave it running', async () => {
    const id = await rig.run({ HostConfig: { NetworkMode: 'none', AutoRemove: true } });
    await Promise.all([rig.containers.restart(id, {}), rig.containers.restart(id, {})]);
    await rig.containers.restart(id, {});
    await allRetries();
    expect(await rig.status(id)).toBe('running 0');
  });

  test('a --rm container whose restart fails is removed', async () => {
    const source = join(rig.directory, 'source');
    mkdirSync(source);
    const id = await rig.run({
      HostConfig: {
        NetworkMode: 'none',
        AutoRemove: true,
        Mounts: [{ Type: 'bind', Source: source, Target: '/x' }],
      },
    });
    rmdirSync(source);
    await expect(rig.containers.restart(id, {})).rejects.toThrow('bind source path does not exist');
    await allRetries();
    expect(remains()).toEqual(nothing);
  });

  test('a restart by a person is one, also of a --rm container', async () => {
    const id = await rig.run({ HostConfig: { NetworkMode: 'none', AutoRemove: true } });
    await rig.containers.restart(id, {});
    expect(rig.journal.actions()).toEqual([
      'kill 15',
      'die 143',
      'disconnect',
      'stop',
      'connect',
      'start',
      'restart',
    ]);
  });
});

describe('remove', () => {
  test('refuses what runs, and with force kills it first', async () => {
    const id = await rig.run();
    await expect(rig.containers.remove(id, { volumes: false, force: false, link: false })).rejects.toThrow(
      `You cannot remove a running container ${id}. Stop the container before attempting removal or force remove`,
    );
    await rig.containers.remove(id, { volumes: true, force: true, link: false });
    expect(rig.journal.actions()).toEqual(['kill 9', 'die 137', 'disconnect', 'destroy']);
    expect(remains()).toEqual(nothing);
  });

  test('of files that resist leaves a dead container; with force only the files', async () => {
    const id = await rig.create();
    rig.world.failing.add('rootfs.remove');
    const refused = rig.containers.remove(id, { volumes: false, force: false, link: false });
    await Promise.all([expect(refused).rejects.toThrow('failed to remove its files'), allRetries()]);
    expect(await rig.status(id)).toMatch(/^dead 0: /);
    const forced = rig.containers.remove(id, { volumes: false, force: true, link: false });
    await Promise.all([forced, allRetries()]);
    expect([rig.table.rows.size, rig.world.rootfsIds.size]).toEqual([0, 1]);
    await rig.restartDaemon();
    expect(rig.world.rootfsIds.size).toBe(1);
    rig.world.failing.clear();
    await rig.restartDaemon();
    expect(rig.world.rootfsIds.size).toBe(0);
  });

  test('whose row resists is over all the same, and the row goes when it can', async () => {
    const id = await rig.create();
    const remove = rig.table.remove.bind(rig.table);
    rig.table.remove = () => {
      throw new Error('disk is full');
    };
    await rig.containers.remove(id, { volumes: false, force: false, link: false });
    await expect(rig.status(id)).rejects.toMatchObject({ code: 'not_found' });
    expect([rig.table.rows.size, rig.world.rootfsIds.size]).toEqual([1, 0]);
    rig.table.remove = remove;
    rig.journal.settle();
    expect([rig.table.rows.size, rig.world.rootfsIds.size]).toEqual([0, 0]);
  });

  test('all verbs at once on one container end in one state, with one die per exit', async () => {
    const id = await rig.run();
    const settledVerbs = await Promise.allSettled([
      rig.containers.stop(id, {}),
      rig.containers.kill(id, {}),
      rig.containers.restart(id, {}),
      rig.containers.rename(id, 'renamed'),
      rig.containers.remove(id, { volumes: false, force: true, link: false }),
      rig.containers.start(id, {}),
    ]);
    await settled();
    expect(settledVerbs).toHaveLength(6);
    const actions = rig.journal.actions();
    const count = (action: string): number => actions.filter((text) => text.startsWith(action)).length;
    expect([count('die') <= count('start') + 1, count('destroy')]).toEqual([true, 1]);
    expect(remains()).toEqual(nothing);
  });
});

test('prune removes what is at rest and says what it gave back', async () => {
  const [old, running] = [await rig.create({ Labels: { keep: 'no' } }), await rig.run()];
  await rig.create({ Labels: { keep: 'yes' } }, 'kept');
  const filters = new Map([['label!', ['keep=yes']]]);
  expect(await rig.containers.prune(filters)).toEqual({ ContainersDeleted: [old], SpaceReclaimed: 10 });
  expect(
    (await rig.containers.list({ all: true, limit: 0, size: false, filters: new Map() })).map(({ Id }) => Id),
  ).toHaveLength(2);
  expect(await rig.status(running)).toBe('running 0');
  await expect(rig.containers.prune(new Map([['x', ['1']]]))).rejects.toThrow("invalid filter 'x'");
});

test('start: one that waits already when its container ends comes after the release of that run', async () => {
  const id = await rig.run();
  let goOn!: () => void;
  rig.runtime.control.onFreeze = () =>
    new Promise((resolve) => {
      goOn = resolve;
    });
  const paused = rig.containers.pause(id);
  await settled();
  const started = rig.containers.start(id, {});
  await rig.exit(id, 1);
  goOn();
  await expect(paused).rejects.toThrow('is not running');
  await started;
  await settled();
  expect(await rig.status(id)).toBe('running 0');
  expect([rig.runtime.runs.size, rig.world.mounted.size, rig.world.openSandboxes.size]).toEqual([1, 1, 1]);
});
