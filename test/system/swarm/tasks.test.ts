import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { differences } from '../../support/engine/oracle.ts';
import { waitFor } from '../../support/wait-for.ts';

interface Task {
  ID: string;
  NodeID: string;
  Slot: number;
  DesiredState: string;
  Status: { State: string; Err?: string; ContainerStatus?: { ContainerID: string; ExitCode: number } };
}

let daemon: TestDaemon;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  await daemon.loadBusybox();
  await daemon.http.ok('POST', '/swarm/init', {
    ListenAddr: '127.0.0.1:2377',
    AdvertiseAddr: '127.0.0.1:2377',
  });
});
afterEach(async () => {
  const services = await daemon.http.ok<{ ID: string }[]>('GET', '/services');
  await Promise.all(services.map(({ ID }) => daemon.http.ok('DELETE', `/services/${ID}`)));
  await waitFor(async () => expect(await containers()).toEqual([]));
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
});

/** Ends at once when it is asked to. */
const WAIT = 'trap "exit 0" TERM; while :; do sleep 0.05; done';

async function create(spec: Partial<ServiceSpec>, command = WAIT, more: object = {}): Promise<string> {
  const { ID } = await daemon.http.ok<{ ID: string }>('POST', '/services/create', {
    Name: 'web',
    ...spec,
    TaskTemplate: {
      RestartPolicy: { Condition: 'any', Delay: 0 },
      ...spec.TaskTemplate,
      ContainerSpec: { Image: 'busybox:latest', Command: ['sh', '-c', command], ...more },
    },
  });
  return ID;
}

async function tasksIn(state: string, count: number): Promise<Task[]> {
  return await waitFor(async () => {
    const tasks = (await daemon.http.ok<Task[]>('GET', '/tasks')).filter(
      ({ Status }) => Status.State === state,
    );
    expect(tasks, daemon.log().slice(-500)).toHaveLength(count);
    return tasks;
  });
}

async function containers(
  filter = 'true',
): Promise<{ Id: string; Names: string[]; Labels: Record<string, string> }[]> {
  const filters = encodeURIComponent(JSON.stringify({ 'is-task': [filter] }));
  return await daemon.http.ok('GET', `/containers/json?all=1&filters=${filters}`);
}

async function said(container: string): Promise<string> {
  const { bytes } = await daemon.http.request('GET', `/containers/${container}/logs?stdout=1`);
  return bytes.toString('latin1').replaceAll(/[^\x20-\x7e\n]/g, '');
}

test('a service is containers of this engine, named and labelled after their tasks', async () => {
  const ID = await create({ Mode: { Replicated: { Replicas: 2 } } });
  const tasks = await tasksIn('running', 2);
  const shown = await containers();
  expect(shown.flatMap(({ Names }) => Names).toSorted()).toEqual(
    tasks.map((task) => `/web.${task.Slot}.${task.ID}`).toSorted(),
  );
  expect(new Set(shown.map(({ Labels }) => Labels['com.docker.swarm.service.id']))).toEqual(new Set([ID]));
  expect(await containers('false')).toEqual([]);
});

test('templates, secrets and configs are what the task sees', async () => {
  const { ID: secret } = await daemon.http.ok<{ ID: string }>('POST', '/secrets/create', {
    Name: 'pw',
    Data: Buffer.from('geheim').toString('base64'),
  });
  const { ID: config } = await daemon.http.ok<{ ID: string }>('POST', '/configs/create', {
    Name: 'cf',
    Data: Buffer.from('{{.Service.Name}} {{env "SLOT"}} {{secret "pw"}}').toString('base64'),
    Templating: { Name: 'golang' },
  });
  const file = { UID: '0', GID: '0', Mode: 0o400 };
  await create({}, `cat /run/secrets/pw /cf.ini; echo " $SLOT $(hostname)"; ${WAIT}`, {
    Env: ['SLOT={{.Task.Slot}}'],
    Hostname: '{{.Service.Name}}-{{.Task.Slot}}',
    Secrets: [{ SecretID: secret, SecretName: 'pw', File: { Name: 'pw', ...file } }],
    Configs: [{ ConfigID: config, ConfigName: 'cf', File: { Name: '/cf.ini', ...file } }],
  });
  const [task] = await tasksIn('running', 1);
  const id = task?.Status.ContainerStatus?.ContainerID ?? '';
  await waitFor(async () => expect(await said(id)).toContain('geheimweb 1 geheim 1 web-1'));
});

test('2: a task whose container is removed or stopped by hand fails, and another takes its place', async () => {
  await create({});
  const [first] = await tasksIn('running', 1);
  await daemon.http.ok('DELETE', `/containers/${first?.Status.ContainerStatus?.ContainerID ?? ''}?force=1`);
  const [failed] = await tasksIn('failed', 1);
  expect(failed).toMatchObject({
    ID: first?.ID,
    Slot: 1,
    Status: { Err: 'task: non-zero exit (137)', ContainerStatus: { ExitCode: 137 } },
  });
  const [second] = await tasksIn('running', 1);
  await daemon.http.ok('POST', `/containers/${second?.Status.ContainerStatus?.ContainerID ?? ''}/stop`);
  await tasksIn('complete', 1);
  const [third] = await tasksIn('running', 1);
  expect(new Set([first?.ID, second?.ID, third?.ID]).size).toBe(3);
});

test('33: an image that is nowhere rejects its tasks with the reason', async () => {
  await daemon.http.ok('POST', '/services/create', {
    Name: 'nope',
    TaskTemplate: {
      ContainerSpec: { Image: 'registry.invalid/nope:1' },
      RestartPolicy: { Condition: 'none' },
    },
  });
  const [task] = await tasksIn('rejected', 1);
  expect(task?.Status.Err).toContain('registry.invalid');
});

test('host ports that the node chose are told', async () => {
  await create({ EndpointSpec: { Ports: [{ Protocol: 'tcp', TargetPort: 80, PublishMode: 'host' }] } });
  const [task] = await tasksIn('running', 1);
  expect(task?.Status).toMatchObject({
    PortStatus: {
      Ports: [{ TargetPort: 80, PublishMode: 'host', PublishedPort: expect.any(Number) as number }],
    },
  });
});

function place({ ID, Status }: Task): string {
  return `${ID} in ${Status.ContainerStatus?.ContainerID ?? 'nothing'}`;
}

test('102: tasks run on while the daemon is killed, and are the same when it is back', async () => {
  await create({ Mode: { Replicated: { Replicas: 3 } } });
  const before = await tasksIn('running', 3);
  await daemon.restart();
  await waitFor(async () => expect((await daemon.http.request('GET', '/tasks')).status).toBe(200));
  const after = await tasksIn('running', 3);
  expect(after.map(place).toSorted()).toEqual(before.map(place).toSorted());
});

test('104: a node that leaves has no task and no container any more', async () => {
  await create({ Mode: { Replicated: { Replicas: 3 } } }, 'sleep 1000');
  await tasksIn('running', 3);
  await daemon.http.ok('POST', '/swarm/leave?force=1');
  expect(await containers()).toEqual([]);
  expect(await differences(daemon)).toEqual([]);
  await daemon.http.ok('POST', '/swarm/init', {
    ListenAddr: '127.0.0.1:2377',
    AdvertiseAddr: '127.0.0.1:2377',
  });
});
