import { afterEach, beforeEach, expect, test } from 'vitest';
import { never, TaskRig, taskToRun } from '../../support/fakes/task-rig.ts';
import { settled } from '../../support/fakes/manual-clock.ts';

let rig: TaskRig;

beforeEach(async () => {
  rig = await TaskRig.make();
});

afterEach(() => rig[Symbol.dispose]());

const NONE = { Networks: [{ Target: 'none' }] };
const CHECK = { Test: ['CMD', 'ok'], Interval: 10e9, Timeout: 5e9, Retries: 1 };
const CHECKED = { ...NONE, ContainerSpec: { Healthcheck: CHECK } };

async function names(key: string, value: string): Promise<string[]> {
  const filters = new Map([[key, [value]]]);
  const found = await rig.engine.containers.list({ all: true, limit: 0, size: false, filters });
  return found.map(({ Names }) => Names[0] ?? '');
}

/** The next probe of the only container ends like this. */
async function probe(exitCode: number): Promise<void> {
  await rig.engine.clock.advance(10_000);
  rig.engine.runtime.execs.at(-1)?.end(exitCode);
  await settled();
  await rig.changed();
}

test('task: is prepared, started, waited for and removed', async () => {
  const task = taskToRun(NONE);
  const id = await rig.executor.prepare(task, never);
  expect(await rig.engine.status(id)).toBe('created 0');
  expect(await rig.executor.prepare(task, never)).toBe(id);
  expect(await rig.executor.start(task, never)).toEqual({
    container: id,
    pid: expect.any(Number),
    ports: [],
  });
  // Once only, whoever asks.
  expect(await rig.executor.start(task, never)).toMatchObject({ container: id });
  const end = rig.executor.wait(task, never);
  await rig.engine.exit(id, 3);
  expect(await end).toEqual({ container: id, exitCode: 3 });
  expect(await rig.executor.start(task, never)).toEqual({ container: id, exitCode: 3 });
  expect(await rig.executor.leftovers()).toEqual([task.id]);
  await rig.executor.remove(task.id);
  await rig.executor.remove(task.id);
  expect(await rig.executor.leftovers()).toEqual([]);
});

test('task: its container is found by the next daemon', async () => {
  const task = taskToRun(NONE);
  const id = await rig.executor.prepare(task, never);
  await rig.executor.start(task, never);
  expect(await names('is-task', 'true')).toEqual([`/web.1.${task.id}`]);
  expect(await names('is-task', 'false')).toEqual([]);
  expect(await rig.executor.stop(task)).toEqual({ container: id, exitCode: expect.any(Number) });
});

test('task: a container that only has the labels of one, as its image has them, is none', async () => {
  const task = taskToRun(NONE);
  await rig.engine.create({ Labels: { 'com.docker.swarm.task.id': task.id } }, 'copy');
  expect(await names('is-task', 'true')).toEqual([]);
  expect(await rig.executor.leftovers()).toEqual([]);
  await rig.executor.remove(task.id);
  expect(await names('is-task', 'false')).toEqual(['/copy']);
});

test.each([
  [
    'a source of a bind that is not there',
    {
      ...NONE,
      ContainerSpec: { Mounts: [{ Type: 'bind' as const, Source: '/nowhere/at/all', Target: '/a' }] },
    },
    'invalid bind mount source, source path not found: /nowhere/at/all',
  ],
  ['a network that is not here', { Networks: [{ Target: 'x' }] }, 'network x not found'],
])('task: is refused for %s, and leaves nothing', async (_title, spec, text) => {
  await expect(rig.executor.prepare(taskToRun(spec), never)).rejects.toThrow(text);
  expect([await rig.executor.leftovers(), rig.pulls]).toEqual([[], []]);
});

test('task: a start that fails says so in the words that clients know', async () => {
  const task = taskToRun(NONE);
  await rig.executor.prepare(task, never);
  rig.engine.world.failing.add('open');
  await expect(rig.executor.start(task, never)).rejects.toThrow('starting container failed: open failed');
});

test('task: prune leaves what is about to be started', async () => {
  const task = taskToRun(NONE);
  const id = await rig.executor.prepare(task, never);
  const left = await rig.engine.create({}, 'left');
  expect((await rig.engine.containers.prune(new Map())).ContainersDeleted).toEqual([left]);
  await rig.executor.start(task, never);
  await rig.engine.exit(id, 0);
  expect((await rig.engine.containers.prune(new Map())).ContainersDeleted).toEqual([id]);
});

test('task: what a client did to its container ends it', async () => {
  const task = taskToRun(NONE);
  const id = await rig.executor.prepare(task, never);
  await rig.executor.start(task, never);
  const end = rig.executor.wait(task, never);
  await rig.engine.containers.remove(id, { volumes: false, force: true, link: false });
  expect(await end).toEqual({ container: id, exitCode: 137 });
  await expect(rig.executor.wait(task, never)).rejects.toThrow('No such container');
  await expect(rig.executor.start(task, never)).rejects.toThrow('No such container');
  expect(await rig.executor.stop(task)).toBeUndefined();
});

test('task: a wait that nobody wants any more ends, the container runs on', async () => {
  const task = taskToRun(NONE);
  const id = await rig.executor.prepare(task, never);
  await rig.executor.start(task, never);
  const abort = new AbortController();
  const end = rig.executor.wait(task, abort.signal);
  abort.abort();
  await expect(end).rejects.toThrow('canceled');
  expect(await rig.engine.status(id)).toBe('running 0');
});

test('52: a task with a health check has started when it is healthy', async () => {
  const task = taskToRun(CHECKED);
  const id = await rig.executor.prepare(task, never);
  let isStarted = false;
  const start = rig.executor.start(task, never).then((result) => {
    isStarted = true;
    return result;
  });
  await settled();
  expect(isStarted).toBe(false);
  await probe(0);
  expect(await start).toMatchObject({ container: id, ports: [] });
  const end = rig.executor.wait(task, never);
  await settled();
  await probe(1);
  expect(await end).toEqual({
    container: id,
    exitCode: expect.any(Number),
    cause: 'dockerexec: unhealthy container',
  });
  expect((await rig.engine.status(id)).split(' ')[0]).toBe('exited');
});

test('task: one that is unhealthy before it was healthy, or ends before, has not started', async () => {
  const task = taskToRun(CHECKED);
  const id = await rig.executor.prepare(task, never);
  const start = rig.executor.start(task, never);
  await settled();
  await probe(1);
  expect(await start).toMatchObject({ container: id, cause: 'dockerexec: unhealthy container' });

  const other = taskToRun(CHECKED, { id: 'u'.padEnd(25, '0'), name: 'web.2' });
  const otherId = await rig.executor.prepare(other, never);
  const otherStart = rig.executor.start(other, never);
  await settled();
  await rig.engine.exit(otherId, 5);
  await rig.changed();
  expect(await otherStart).toEqual({ container: otherId, exitCode: 5 });
});

test('task: published ports are told as they came out', async () => {
  const task = taskToRun(
    { Networks: [{ Target: 'bridge' }] },
    {
      hostPorts: [
        { Name: 'http', Protocol: 'tcp', TargetPort: 80, PublishedPort: 8080, PublishMode: 'host' },
      ],
    },
  );
  await rig.executor.prepare(task, never);
  expect(await rig.executor.start(task, never)).toMatchObject({
    ports: [{ Name: 'http', Protocol: 'tcp', TargetPort: 80, PublishedPort: 8080, PublishMode: 'host' }],
  });
});

test('task: in a network of the swarm it has its addresses; one that is not in force is its error', async () => {
  const addresses = ['10.0.1.3'];
  const task = taskToRun(
    { Networks: [{ Target: 'far-id' }] },
    { networks: [{ network: 'far-id', addresses }] },
  );
  rig.troubles.set('far-id', 'network far: no VXLAN');
  await expect(rig.executor.prepare(task, never)).rejects.toThrow('network far: no VXLAN');
  rig.troubles.clear();
  const made = await rig.engine.containers.inspect(await rig.executor.prepare(task, never), { size: false });
  expect(made.HostConfig.NetworkMode).toBe('far');
  expect(made.NetworkSettings.Networks['far']?.IPAMConfig).toEqual({ IPv4Address: '10.0.1.3' });
});
