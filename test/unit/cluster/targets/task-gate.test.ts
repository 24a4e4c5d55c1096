import { expect, test } from 'vitest';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { gatedExecutor } from '../../../../daemon/boot/cluster/gated-executor.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import type { Executor, TaskToRun } from '../../../../swarm/agent/executor.ts';
import { openTargets, startTarget, type OpenTargets } from '../../../support/cluster/open-targets.ts';
import { until } from '../../../support/engine/http.ts';

const NEVER = new AbortController().signal;

function nothing(): never {
  throw new Error('is not asked');
}

/** An executor that runs nothing, and remembers what it was asked. */
function fakeExecutor(): { executor: Executor; steps: string[] } {
  const steps: string[] = [];
  const executor: Executor = {
    describe: nothing,
    subnets: nothing,
    networks: nothing,
    attachments: nothing,
    prepare: nothing,
    wait: nothing,
    remove: nothing,
    leftovers: nothing,
    logs: nothing,
    start: ({ id }) => {
      steps.push(`start ${id}`);
      return Promise.resolve({ container: 'c', pid: 1, ports: [] });
    },
    stop: ({ id }) => {
      steps.push(`stop ${id}`);
      return Promise.resolve({ container: 'c', exitCode: 0 });
    },
  };
  return { executor, steps };
}

function task(id: string, labels: Record<string, string>): TaskToRun {
  return {
    id,
    name: `web.1.${id}`,
    node: 'n',
    desired: TaskState.running,
    spec: {},
    hostPorts: [],
    generic: [],
    networks: [],
    secrets: new Map(),
    configs: new Map(),
    service: { id: 'service', name: 'web', labels },
  };
}

const LABELS = { 'berth.target-group': 'web' };

/** A group whose instances are all at one port of this host. */
async function group(open: OpenTargets, healthCheckIntervalSeconds = 5): Promise<string> {
  const config = { healthCheck: { healthCheckIntervalSeconds, unhealthyThresholdCount: 2 } };
  const { id } = await open.ask('createTargetGroup', { body: { name: 'web', type: 'INSTANCE', config } });
  const params = { group: String(id) };
  await until(
    'it is active',
    async () => (await open.ask('getTargetGroup', { params }))['status'] === 'ACTIVE',
  );
  return params.group;
}

function at(port: number) {
  return {
    places: {
      find: () => Promise.resolve({ host: '127.0.0.1', port }),
      problem: () => Promise.resolve(undefined),
    },
  };
}

test('a task runs when its group takes it for healthy, and stops when it has drained', async () => {
  await using target = await startTarget((_req, res) => res.end());
  await using open = await openTargets(at(target.port));
  const id = await group(open);
  await open.targets.start();
  const { executor, steps } = fakeExecutor();
  const gated = gatedExecutor(executor, open.targets, silentLogger);
  expect(await gated.start(task('one', LABELS), NEVER)).toMatchObject({ pid: 1 });
  const health = await open.ask('listTargets', { params: { group: id } });
  expect(health['items']).toMatchObject([{ id: 'one', port: 80, status: 'UNUSED' }]);
  expect(open.news).toMatchObject([{ health: { status: 'HEALTHY' } }]);
  await gated.stop(task('one', LABELS));
  expect(steps).toEqual(['start one', 'stop one']);
  expect((await open.ask('listTargets', { params: { group: id } }))['items']).toEqual([]);
});

test('a task that is deregistered while it waits is told so', async () => {
  await using open = await openTargets(at(1));
  const params = { group: await group(open) };
  const { executor } = fakeExecutor();
  const gated = gatedExecutor(executor, open.targets, silentLogger);
  const started = gated.start(task('one', LABELS), NEVER);
  const ids = async (): Promise<unknown> => (await open.ask('listTargets', { params }))['items'];
  await until('it is registered', async () => Object(await ids()).length === 1);
  await open.ask('deregisterTargets', { params, body: { targets: [{ id: 'one' }] } });
  expect(await started).toMatchObject({ cause: 'unhealthy in target group web: TargetDeregistered' });
});

test('a task that its group takes for unhealthy is stopped, and ends with the reason', async () => {
  await using target = await startTarget((_req, res) => res.writeHead(500).end());
  await using open = await openTargets(at(target.port));
  await group(open);
  await open.targets.start();
  const { executor, steps } = fakeExecutor();
  const gated = gatedExecutor(executor, open.targets, silentLogger);
  expect(await gated.start(task('one', LABELS), NEVER)).toEqual({
    container: 'c',
    exitCode: 1,
    cause: 'unhealthy in target group web: HealthCheckStatusMismatch',
  });
  expect(steps).toEqual(['start one', 'stop one']);
});

test('a group that is not there is named; without a label or without groups nothing is asked', async () => {
  await using open = await openTargets();
  const { executor } = fakeExecutor();
  const gated = gatedExecutor(executor, open.targets, silentLogger);
  await expect(gated.start(task('one', LABELS), NEVER)).rejects.toThrow('there is no target group web');
  expect(await gated.start(task('one', {}), NEVER)).toMatchObject({ pid: 1 });
  const without = gatedExecutor(executor, { gate: undefined }, silentLogger);
  expect(await without.start(task('one', LABELS), NEVER)).toMatchObject({ pid: 1 });
});

test('tasks of other hosts are registered when they run, and drained when they are gone', async () => {
  let tasks = [{ id: 'one', service: 's', group: 'web', port: undefined, isRunning: false }];
  await using open = await openTargets({ tasks: { list: () => Promise.resolve(tasks) } });
  const params = { group: await group(open) };
  const ids = async (): Promise<string> =>
    JSON.stringify((await open.ask('listTargets', { params }))['items']);
  await open.targets.follow();
  expect(await ids()).toBe('[]');
  tasks = tasks.map((one) => ({ ...one, isRunning: true }));
  await open.targets.follow();
  expect(await ids()).toContain('"one"');
  await open.ask('registerTargets', { params, body: { targets: [{ id: 'by-hand' }] } });
  tasks = [];
  await open.targets.follow();
  expect(await ids()).not.toContain('"one"');
  expect(await ids()).toContain('"by-hand"');
});
