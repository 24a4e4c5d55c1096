import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ContainerInspect } from '../../../api/types/container.ts';
import type { ContainerSpec } from '../../../api/types/swarm/container-spec.ts';
import type { TaskSpec } from '../../../api/types/swarm/task.ts';
import type { AssignedTask } from '../../../swarm/protocol/session.ts';
import { taskToRun } from '../../support/swarm/executor-contract.ts';
import { taskId } from '../../support/swarm/fake-leader.ts';
import { TaskDaemon } from '../../support/swarm/task-daemon-client.ts';

const { signal } = new AbortController();
const ID = taskId(1);
let tasks: TaskDaemon;
let directory: string;

beforeAll(async () => {
  tasks = await TaskDaemon.make();
  directory = mkdtempSync('/tmp/berth-test-tasks-');
});
afterEach(async () => {
  await tasks.executor.remove(ID);
});
afterAll(async () => {
  await tasks[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

type Rest = Partial<AssignedTask> & {
  secrets?: Map<string, Buffer>;
  configs?: Map<string, Buffer>;
  task?: TaskSpec;
};

function taskOf(spec: ContainerSpec, { secrets, configs, task, ...rest }: Rest = {}) {
  return {
    ...taskToRun(ID, { ...rest, spec: { ...task, ContainerSpec: spec } }),
    ...(secrets && { secrets }),
    ...(configs && { configs }),
  };
}

async function inspected(): Promise<ContainerInspect> {
  return await tasks.daemon.http.ok<ContainerInspect>('GET', `/containers/web.1.${ID}/json`);
}

/** What a command in the task's container says. */
async function said(command: string, spec: ContainerSpec = {}, rest: Rest = {}): Promise<string> {
  const task = taskOf({ Command: ['sh', '-c', command], Args: [], ...spec }, rest);
  await tasks.executor.prepare(task, signal);
  await tasks.executor.start(task, signal);
  await tasks.executor.wait(task, signal);
  const lines = [];
  const subscription = { id: 's', tasks: [ID], follow: false, stdout: true, stderr: true };
  for await (const { line } of tasks.executor.logs(subscription, signal)) {
    lines.push(Buffer.from(line, 'base64').toString());
  }
  return lines.join('').trim();
}

type Part = (container: ContainerInspect) => unknown;

test.each<[string, ContainerSpec, Part, unknown, Rest?]>([
  ['Image', { Image: 'busybox:latest' }, (c) => c.Config.Image, 'busybox:latest'],
  [
    'Command',
    { Command: ['a', 'b'], Args: [] },
    (c) => [c.Config.Entrypoint, c.Config.Cmd],
    [['a', 'b'], null],
  ],
  ['Args', { Command: null, Args: ['sleep', '1'] }, (c) => c.Config.Cmd, ['sleep', '1']],
  ['Hostname', { Hostname: 'h1' }, (c) => c.Config.Hostname, 'h1'],
  ['Env', { Env: ['A=1'] }, (c) => c.Config.Env?.includes('A=1'), true],
  ['Dir', { Dir: '/tmp' }, (c) => c.Config.WorkingDir, '/tmp'],
  ['User', { User: '1000:1000' }, (c) => c.Config.User, '1000:1000'],
  ['Groups', { Groups: ['10'] }, (c) => c.HostConfig.GroupAdd, ['10']],
  ['Init', { Init: true }, (c) => c.HostConfig.Init, true],
  ['StopSignal', { StopSignal: 'SIGINT' }, (c) => c.Config.StopSignal, 'SIGINT'],
  ['TTY', { TTY: true }, (c) => c.Config.Tty, true],
  ['OpenStdin', { OpenStdin: true }, (c) => c.Config.OpenStdin, true],
  ['ReadOnly', { ReadOnly: true }, (c) => c.HostConfig.ReadonlyRootfs, true],
  ['StopGracePeriod', { StopGracePeriod: 1_500_000_000 }, (c) => c.Config.StopTimeout, 2],
  [
    'Healthcheck',
    { Healthcheck: { Test: ['CMD', 'true'], Interval: 2_000_000_000 } },
    (c) => c.Config.Healthcheck,
    { Test: ['CMD', 'true'], Interval: 2_000_000_000 },
  ],
  ['Hosts', { Hosts: ['10.0.0.9 db database'] }, (c) => c.HostConfig.ExtraHosts, ['db:10.0.0.9']],
  [
    'DNSConfig',
    { DNSConfig: { Nameservers: ['10.0.0.3'], Search: ['x.org'], Options: ['ndots:2'] } },
    (c) => [c.HostConfig.Dns, c.HostConfig.DnsSearch, c.HostConfig.DnsOptions],
    [['10.0.0.3'], ['x.org'], ['ndots:2']],
  ],
  [
    'Sysctls',
    { Sysctls: { 'net.core.somaxconn': '99' } },
    (c) => c.HostConfig.Sysctls,
    { 'net.core.somaxconn': '99' },
  ],
  ['CapabilityAdd', { CapabilityAdd: ['CAP_NET_ADMIN'] }, (c) => c.HostConfig.CapAdd, ['CAP_NET_ADMIN']],
  ['CapabilityDrop', { CapabilityDrop: ['CAP_CHOWN'] }, (c) => c.HostConfig.CapDrop, ['CAP_CHOWN']],
  [
    'Ulimits',
    { Ulimits: [{ Name: 'nofile', Soft: 99, Hard: 100 }] },
    (c) => c.HostConfig.Ulimits,
    [{ Name: 'nofile', Soft: 99, Hard: 100 }],
  ],
  [
    'Privileges.NoNewPrivileges',
    { Privileges: { NoNewPrivileges: true } },
    (c) => c.HostConfig.SecurityOpt,
    ['no-new-privileges=true'],
  ],
  [
    'Privileges.Seccomp',
    { Privileges: { Seccomp: { Mode: 'unconfined' } } },
    (c) => c.HostConfig.SecurityOpt,
    ['seccomp=unconfined'],
  ],
  [
    'Privileges.SELinuxContext',
    { Privileges: { SELinuxContext: { Disable: true } } },
    (c) => c.HostConfig.SecurityOpt,
    ['label=disable'],
  ],
  ['Isolation', { Isolation: 'default' }, (c) => c.HostConfig.Isolation, 'default'],
  [
    'Mounts: tmpfs',
    { Mounts: [{ Type: 'tmpfs', Target: '/t' }] },
    (c) => c.Mounts.map(({ Type, Destination }) => [Type, Destination]),
    [['tmpfs', '/t']],
  ],
  [
    'Mounts: volume',
    {
      Mounts: [
        { Type: 'volume', Source: 'v1', Target: '/v', ReadOnly: true, VolumeOptions: { Labels: { a: 'b' } } },
      ],
    },
    (c) => c.Mounts.map(({ Type, Name, Destination, RW }) => [Type, Name, Destination, RW]),
    [['volume', 'v1', '/v', false]],
  ],
  [
    'Limits',
    {},
    (c) => [c.HostConfig.NanoCpus, c.HostConfig.Memory, c.HostConfig.PidsLimit],
    [5e8, 64 << 20, 77],
    {
      task: { Resources: { Limits: { NanoCPUs: 5e8, MemoryBytes: 64 << 20, Pids: 77 } } },
    },
  ],
  [
    'Reservations.MemoryBytes',
    {},
    (c) => c.HostConfig.MemoryReservation,
    32 << 20,
    {
      task: { Resources: { Reservations: { MemoryBytes: 32 << 20 } } },
    },
  ],
  [
    'LogDriver',
    {},
    (c) => c.HostConfig.LogConfig,
    { Type: 'json-file', Config: { 'max-size': '1m' } },
    {
      task: { LogDriver: { Name: 'json-file', Options: { 'max-size': '1m' } } },
    },
  ],
  [
    'LogDriver of the swarm',
    {},
    (c) => c.HostConfig.LogConfig?.Type,
    'none',
    { logDriver: { Name: 'none' } },
  ],
  [
    'Networks: none',
    {},
    (c) => c.HostConfig.NetworkMode,
    'none',
    { task: { Networks: [{ Target: 'none' }] } },
  ],
  [
    'Networks: host',
    {},
    (c) => c.HostConfig.NetworkMode,
    'host',
    { task: { Networks: [{ Target: 'host' }] } },
  ],
  ['no network', {}, (c) => Object.keys(c.NetworkSettings.Networks), ['bridge']],
  [
    'generic resources',
    {},
    (c) => c.Config.Env?.filter((entry) => entry.startsWith('DOCKER_')),
    ['DOCKER_RESOURCE_GPU=UUID1,UUID2', 'DOCKER_RESOURCE_SSD=3'],
    {
      generic: [
        { NamedResourceSpec: { Kind: 'gpu', Value: 'UUID1' } },
        { DiscreteResourceSpec: { Kind: 'SSD', Value: 3 } },
        { NamedResourceSpec: { Kind: 'gpu', Value: 'UUID2' } },
      ],
    },
  ],
  [
    'RestartPolicy',
    {},
    (c) => c.HostConfig.RestartPolicy?.Name,
    'no',
    {
      task: { RestartPolicy: { Condition: 'any' } },
    },
  ],
  [
    'host ports',
    {},
    (c) => [c.HostConfig.PortBindings, c.Config.ExposedPorts],
    [
      { '80/tcp': [{ HostIp: '', HostPort: '8080' }], '53/udp': [{ HostIp: '', HostPort: '' }] },
      { '80/tcp': {}, '53/udp': {} },
    ],
    {
      hostPorts: [
        { Protocol: 'tcp', TargetPort: 80, PublishedPort: 8080, PublishMode: 'host' },
        { Protocol: 'udp', TargetPort: 53, PublishMode: 'host' },
      ],
    },
  ],
])('field %s takes effect', async (_field, spec, part, expected, rest) => {
  await tasks.executor.prepare(taskOf(spec, rest), signal);
  expect(part(await inspected())).toEqual(expected);
});

test('labels: those of the swarm stand above those of the specification', async () => {
  await tasks.executor.prepare(taskOf({ Labels: { a: 'b', 'com.docker.swarm.task.id': 'false' } }), signal);
  expect((await inspected()).Config.Labels).toEqual({
    a: 'b',
    'com.docker.swarm.task': '',
    'com.docker.swarm.task.id': ID,
    'com.docker.swarm.task.name': `web.1.${ID}`,
    'com.docker.swarm.node.id': 'node1',
    'com.docker.swarm.service.id': 'service1',
    'com.docker.swarm.service.name': 'web',
  });
  const listed = async (filter: string): Promise<number> => {
    const filters = encodeURIComponent(JSON.stringify({ 'is-task': [filter] }));
    return (await tasks.daemon.http.ok<unknown[]>('GET', `/containers/json?all=1&filters=${filters}`)).length;
  };
  expect([await listed('true'), await listed('false')]).toEqual([1, 0]);
});

test('a task in a network that this node has, by name or id, with its aliases', async () => {
  const { Id } = await tasks.daemon.http.ok<{ Id: string }>('POST', '/networks/create', { Name: 'net1' });
  await tasks.executor.prepare(
    taskOf({}, { task: { Networks: [{ Target: Id, Aliases: ['db'] }, { Target: 'bridge' }] } }),
    signal,
  );
  const { HostConfig, NetworkSettings } = await inspected();
  expect(HostConfig.NetworkMode).toBe('net1');
  expect(Object.keys(NetworkSettings.Networks).toSorted()).toEqual(['bridge', 'net1']);
  expect(NetworkSettings.Networks['net1']?.Aliases).toContain('db');
});

test('a network that this node does not have refuses its task', async () => {
  const task = taskOf({}, { task: { Networks: [{ Target: 'nowhere' }] } });
  await expect(tasks.executor.prepare(task, signal)).rejects.toThrow('network nowhere not found');
});

test('bind mounts: the source must be there', async () => {
  writeFileSync(`${directory}/file`, 'of the host');
  const bind = (Source: string): ContainerSpec => ({
    Mounts: [{ Type: 'bind', Source, Target: '/b', ReadOnly: true }],
  });
  await expect(tasks.executor.prepare(taskOf(bind(`${directory}/none`)), signal)).rejects.toMatchObject({
    code: 'invalid_argument',
    message: `invalid bind mount source, source path not found: ${directory}/none`,
  });
  expect(await said('cat /b', bind(`${directory}/file`))).toBe('of the host');
});

test('an anonymous volume goes with its task, a named one stays', async () => {
  const Mounts: ContainerSpec['Mounts'] = [
    { Type: 'volume', Target: '/a' },
    { Type: 'volume', Source: 'kept', Target: '/k' },
  ];
  const task = taskOf({ Mounts });
  await tasks.executor.prepare(task, signal);
  await tasks.executor.start(task, signal);
  await tasks.executor.remove(ID);
  const { Volumes } = await tasks.daemon.http.ok<{ Volumes: { Name: string }[] }>('GET', '/volumes');
  expect(Volumes.map(({ Name }) => Name).filter((name) => name === 'kept' || name.length === 64)).toEqual([
    'kept',
  ]);
});

test('host ports come out with the numbers that the node chose', async () => {
  const task = taskOf(
    {},
    {
      hostPorts: [
        { Name: 'http', Protocol: 'tcp', TargetPort: 80, PublishMode: 'host' },
        { Protocol: 'tcp', TargetPort: 81, PublishedPort: 18_081, PublishMode: 'host' },
      ],
    },
  );
  await tasks.executor.prepare(task, signal);
  const started = await tasks.executor.start(task, signal);
  const chosen = expect.any(Number) as number;
  expect(started).toMatchObject({
    ports: [
      { Name: 'http', Protocol: 'tcp', TargetPort: 80, PublishedPort: chosen, PublishMode: 'host' },
      { Protocol: 'tcp', TargetPort: 81, PublishedPort: 18_081, PublishMode: 'host' },
    ],
  });
});

const FILES = {
  spec: {
    Secrets: [
      { SecretID: 's1', SecretName: 'pw', File: { Name: 'pw.txt', UID: '1000', GID: '1001', Mode: 0o440 } },
      { SecretID: 's2', SecretName: 'key', File: { Name: '/etc/deep/key', UID: '0', GID: '0', Mode: 0o444 } },
    ],
    Configs: [
      { ConfigID: 'c1', ConfigName: 'cf', File: { Name: 'cf.ini', UID: '0', GID: '0', Mode: 0o444 } },
    ],
  } satisfies ContainerSpec,
  rest: {
    secrets: new Map([
      ['s1', Buffer.from('geheim-und-lang-genug')],
      ['s2', Buffer.from([0, 255, 10])],
    ]),
    configs: new Map([['c1', Buffer.from('k=v\n')]]),
  },
};

test('secrets and configs are files with their owner and mode, read-only, in memory', async () => {
  const command =
    'stat -c "%a %u %g" /run/secrets/pw.txt; cat /run/secrets/pw.txt; echo; wc -c < /etc/deep/key; cat /cf.ini; ' +
    '(echo x > /run/secrets/pw.txt) 2>&1; stat -f -c %T /run/secrets/pw.txt';
  const text = await said(command, FILES.spec, FILES.rest);
  expect(text.split('\n')).toEqual([
    '440 1000 1001',
    'geheim-und-lang-genug',
    '3',
    'k=v',
    expect.stringMatching(/read-only|Read-only/i),
    'tmpfs',
  ]);
});

test('secrets are seen nowhere on the disk, in no inspection, and by no other container', async () => {
  const task = taskOf({ ...FILES.spec }, FILES.rest);
  await tasks.executor.prepare(task, signal);
  await tasks.executor.start(task, signal);
  const found = execFileSync('sh', ['-c', `grep -rl geheim-und-lang "${tasks.daemon.paths.root}" || true`]);
  expect(found.toString()).toBe('');
  expect(JSON.stringify(await inspected())).not.toMatch(/geheim|s1|pw\.txt/);
  const { Id } = await tasks.daemon.http.ok<{ Id: string }>('POST', '/containers/create', {
    Image: 'busybox',
    Cmd: ['cat', '/run/secrets/pw.txt'],
    HostConfig: { VolumesFrom: [`web.1.${ID}`] },
  });
  await tasks.daemon.http.ok('POST', `/containers/${Id}/start`);
  const { StatusCode } = await tasks.daemon.http.ok<{ StatusCode: number }>('POST', `/containers/${Id}/wait`);
  expect(StatusCode).toBe(1);
  await tasks.daemon.http.ok('DELETE', `/containers/${Id}`);
});

test('files of tasks outlive the daemon, and go with their task; with the last one their tmpfs', async () => {
  const task = taskOf(FILES.spec, FILES.rest);
  const mounted = (): number =>
    Number(
      execFileSync('sh', [
        '-c',
        `grep -c " ${tasks.daemon.paths.execRoot}/tasks " /proc/self/mounts || true`,
      ]),
    );
  await tasks.executor.prepare(task, signal);
  await tasks.executor.start(task, signal);
  await tasks.restart();
  expect(await tasks.executor.leftovers()).toEqual([ID]);
  expect(mounted()).toBe(1);
  await tasks.exec(
    ID,
    'sh',
    '-c',
    '[ "$(cat /run/secrets/pw.txt)" = geheim-und-lang-genug ] && echo 9 > /end',
  );
  expect(await tasks.executor.wait(task, signal)).toMatchObject({ exitCode: 9 });
  await tasks.executor.remove(ID);
  expect(mounted()).toBe(0);
});

test('two files at one place are refused', async () => {
  const [first] = FILES.spec.Secrets;
  const spec = { Secrets: [first, { ...first, SecretID: 's2' }] } as ContainerSpec;
  await expect(tasks.executor.prepare(taskOf(spec, FILES.rest), signal)).rejects.toThrow(
    'Duplicate mount point: /run/secrets/pw.txt',
  );
});

const check = (Test: string, more = {}): ContainerSpec => ({
  Healthcheck: {
    Test: ['CMD-SHELL', Test],
    Interval: 100_000_000,
    Timeout: 5_000_000_000,
    Retries: 2,
    ...more,
  },
});

test('52: a task runs once its health check has said so', async () => {
  const task = taskOf(check('[ -e /healthy ]', { Retries: 1000 }));
  await tasks.executor.prepare(task, signal);
  const started = tasks.executor.start(task, signal);
  await expect.poll(async () => (await inspected()).State.Health?.FailingStreak).toBeGreaterThan(1);
  expect(await Promise.race([started, 'waits'])).toBe('waits');
  await tasks.exec(ID, 'touch', '/healthy');
  expect(await started).toMatchObject({ pid: expect.any(Number) as number });
});

test('a task that never becomes healthy is stopped, and says why', async () => {
  const task = taskOf(check('false'));
  await tasks.executor.prepare(task, signal);
  expect(await tasks.executor.start(task, signal)).toMatchObject({
    exitCode: 137,
    cause: 'dockerexec: unhealthy container',
  });
});

test('a task that becomes unhealthy is stopped, and says why', async () => {
  const task = taskOf(check('! [ -e /ill ]'));
  await tasks.executor.prepare(task, signal);
  await tasks.executor.start(task, signal);
  const end = tasks.executor.wait(task, signal);
  await tasks.exec(ID, 'touch', '/ill');
  expect(await end).toMatchObject({ exitCode: 137, cause: 'dockerexec: unhealthy container' });
});

test('a task that ends before it is healthy tells its end', async () => {
  const task = taskOf({ ...check('false', { Interval: 60_000_000_000 }), Args: ['exit 6'] });
  await tasks.executor.prepare(task, signal);
  expect(await tasks.executor.start(task, signal)).toEqual({
    container: expect.any(String) as string,
    exitCode: 6,
  });
});

test('a container that is removed by hand is the end of its task', async () => {
  const task = taskOf({});
  await tasks.executor.prepare(task, signal);
  await tasks.executor.start(task, signal);
  const end = tasks.executor.wait(task, signal);
  await tasks.daemon.http.ok('DELETE', `/containers/web.1.${ID}?force=1`);
  expect(await end).toMatchObject({ exitCode: 137 });
  await expect(tasks.executor.wait(task, signal)).rejects.toMatchObject({ code: 'not_found' });
});

test('a stop signal is given its grace period, then the task is killed', async () => {
  const task = taskOf({
    Args: ['trap "exit 5" TERM; touch /ready; while :; do sleep 0.05; done'],
    StopGracePeriod: 20_000_000_000,
  });
  await tasks.executor.prepare(task, signal);
  await tasks.executor.start(task, signal);
  await expect
    .poll(
      async () =>
        (await tasks.daemon.http.request('HEAD', `/containers/web.1.${ID}/archive?path=/ready`)).status,
    )
    .toBe(200);
  expect(await tasks.executor.stop(task)).toMatchObject({ exitCode: 5 });
});

test('an image that is not here and cannot be pulled ends its task with the reason', async () => {
  const task = taskOf({ Image: 'registry.invalid/nope:1' });
  await expect(tasks.executor.prepare(task, signal)).rejects.toMatchObject({
    code: expect.stringMatching(/^(?!unavailable|deadline_exceeded)/) as string,
    message: expect.stringContaining('registry.invalid') as string,
  });
});

test('a command that is not there ends its task with the reason', async () => {
  const task = taskOf({ Command: ['/nope'], Args: [] });
  await tasks.executor.prepare(task, signal);
  await expect(tasks.executor.start(task, signal)).rejects.toThrow('/nope');
});

test('logs: lines with their stream, time and attributes; a long line in parts; with a terminal too', async () => {
  const lines = async (spec: ContainerSpec) => {
    await tasks.executor.remove(ID);
    const task = taskOf(spec, { task: { LogDriver: { Name: 'json-file', Options: { labels: 'a' } } } });
    await tasks.executor.prepare(task, signal);
    await tasks.executor.start(task, signal);
    await tasks.executor.wait(task, signal);
    const read: [string, string, unknown][] = [];
    const subscription = { id: 's', tasks: [ID, taskId(9)], follow: true, stdout: true, stderr: true };
    for await (const each of tasks.executor.logs(subscription, signal)) {
      expect(each.at).toMatch(/^\d{19}$/);
      read.push([each.stream, Buffer.from(each.line, 'base64').toString().slice(-4), each.attributes]);
    }
    // A line of 20,000 characters comes in parts; how many is the monitor's matter.
    return read.filter(([, text], at) => text !== 'qqqq' || read[at - 1]?.[1] !== 'qqqq');
  };
  const Labels = { a: 'x=1,y z' };
  const Args = [
    'echo out; sleep 0.1; echo err >&2; sleep 0.1; head -c 20000 /dev/zero | tr "\\0" q; echo end',
  ];
  expect(await lines({ Args, Labels })).toEqual([
    ['stdout', 'out\n', { a: 'x=1,y z' }],
    ['stderr', 'err\n', { a: 'x=1,y z' }],
    ['stdout', 'qqqq', { a: 'x=1,y z' }],
    ['stdout', 'end\n', { a: 'x=1,y z' }],
  ]);
  expect(await lines({ Args: ['echo out'], TTY: true })).toEqual([['stdout', 'ut\r\n', undefined]]);
});

test('describe: the node as GET /info has it', async () => {
  const info = await tasks.daemon.http.ok<Record<string, unknown>>('GET', '/info');
  const { Hostname, Platform, Resources, Engine } = await tasks.executor.describe();
  expect({ Hostname, Platform, Resources, version: Engine?.EngineVersion }).toEqual({
    Hostname: info['Name'],
    Platform: { Architecture: info['Architecture'], OS: 'linux' },
    Resources: { NanoCPUs: Number(info['NCPU']) * 1e9, MemoryBytes: info['MemTotal'] },
    version: info['ServerVersion'],
  });
  expect(Engine?.Plugins).toContainEqual({ Type: 'Volume', Name: 'local' });
  expect(Engine?.Plugins).toContainEqual({ Type: 'Network', Name: 'macvlan' });
  expect(Engine?.Plugins).toContainEqual({ Type: 'Log', Name: 'json-file' });
});
