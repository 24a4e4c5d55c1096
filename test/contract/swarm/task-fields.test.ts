import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ContainerInspect } from '../../../api/types/container.ts';
import type { ContainerSpec } from '../../../api/types/swarm/container-spec.ts';
import { ID, inspected, said, started, taskOf, type Rest } from '../../support/tasks/single-task.ts';
import { TaskDaemon } from '../../support/tasks/task-daemon-client.ts';

const { signal } = new AbortController();
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
  ['OomScoreAdj', { OomScoreAdj: 77 }, (c) => c.HostConfig.OomScoreAdj, 77],
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
    'SwapBytes and MemorySwappiness',
    {},
    (c) => [c.HostConfig.MemorySwap, c.HostConfig.MemorySwappiness],
    [80 << 20, 7],
    { task: { Resources: { Limits: { MemoryBytes: 64 << 20 }, SwapBytes: 16 << 20, MemorySwappiness: 7 } } },
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
  expect(part(await inspected(tasks))).toEqual(expected);
});

test('labels: those of the swarm stand above those of the specification', async () => {
  await tasks.executor.prepare(taskOf({ Labels: { a: 'b', 'com.docker.swarm.task.id': 'false' } }), signal);
  expect((await inspected(tasks)).Config.Labels).toEqual({
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
  const { HostConfig, NetworkSettings } = await inspected(tasks);
  expect(HostConfig.NetworkMode).toBe('net1');
  expect(Object.keys(NetworkSettings.Networks).toSorted()).toEqual(['bridge', 'net1']);
  expect(NetworkSettings.Networks['net1']?.Aliases).toContain('db');
});

test('a task in a network with options of its endpoint: the interface has that name and setting', async () => {
  await tasks.daemon.http.ok('POST', '/networks/create', { Name: 'net2' });
  const DriverOpts = {
    'com.docker.network.endpoint.ifname': 'lan7',
    'com.docker.network.endpoint.sysctls': 'net.ipv4.conf.IFNAME.log_martians=1',
  };
  const command = 'cat /proc/sys/net/ipv4/conf/lan7/log_martians; ls /sys/class/net';
  const text = await said(tasks, command, {}, { task: { Networks: [{ Target: 'net2', DriverOpts }] } });
  const [setting, ...names] = text.split(/\s+/);
  expect([setting, names.includes('lan7'), names.includes('eth0')]).toEqual(['1', true, false]);
});

test('volume options of a mount: its volume is made with them, and is not filled from the image', async () => {
  const VolumeOptions = {
    NoCopy: true,
    Labels: { a: 'b' },
    DriverConfig: { Name: 'local', Options: { type: 'tmpfs', device: 'tmpfs', o: 'size=1m' } },
  };
  const Mounts: ContainerSpec['Mounts'] = [{ Type: 'volume', Source: 'v2', Target: '/bin2', VolumeOptions }];
  expect(await said(tasks, 'df -m /bin2 | tail -n 1; ls /bin2', { Mounts })).toMatch(/^tmpfs +1 .* \/bin2$/);
  expect(await tasks.daemon.http.ok('GET', '/volumes/v2')).toMatchObject({
    Labels: { a: 'b' },
    Options: { type: 'tmpfs', device: 'tmpfs', o: 'size=1m' },
  });
});

test('tmpfs options of a mount: its size and mode', async () => {
  const Mounts: ContainerSpec['Mounts'] = [
    { Type: 'tmpfs', Target: '/t', TmpfsOptions: { SizeBytes: 1 << 20, Mode: 0o700 } },
  ];
  expect(await said(tasks, 'df -m /t | tail -n 1; stat -c %a /t', { Mounts })).toMatch(
    /^tmpfs +1 .* \/t\n700$/,
  );
});

test('bind options of a mount: what is below its source is there, or not', async () => {
  const below: number[] = [];
  for (const NonRecursive of [true, false]) {
    const Mounts: ContainerSpec['Mounts'] = [
      { Type: 'bind', Source: '/dev', Target: '/d', ReadOnly: true, BindOptions: { NonRecursive } },
    ];
    below.push(Number(await said(tasks, 'grep -c " /d/" /proc/self/mountinfo', { Mounts })));
    await tasks.executor.remove(ID);
  }
  expect(below).toEqual([0, expect.any(Number)]);
  expect(below[1]).toBeGreaterThan(0);
});

test('a network that this node does not have refuses its task', async () => {
  const task = taskOf({}, { task: { Networks: [{ Target: 'nowhere' }] } });
  await expect(tasks.executor.prepare(task, signal)).rejects.toThrow('network nowhere not found');
});

function bind(Source: string): ContainerSpec {
  return { Mounts: [{ Type: 'bind', Source, Target: '/b', ReadOnly: true }] };
}

test('bind mounts: the source must be there', async () => {
  writeFileSync(`${directory}/file`, 'of the host');
  await expect(tasks.executor.prepare(taskOf(bind(`${directory}/none`)), signal)).rejects.toMatchObject({
    code: 'invalid_argument',
    message: `invalid bind mount source, source path not found: ${directory}/none`,
  });
  expect(await said(tasks, 'cat /b', bind(`${directory}/file`))).toBe('of the host');
});

test('an anonymous volume goes with its task, a named one stays', async () => {
  const Mounts: ContainerSpec['Mounts'] = [
    { Type: 'volume', Target: '/a' },
    { Type: 'volume', Source: 'kept', Target: '/k' },
  ];
  const task = taskOf({ Mounts });
  await started(tasks, task);
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
  const chosen = expect.any(Number) as number;
  expect(await started(tasks, task)).toMatchObject({
    ports: [
      { Name: 'http', Protocol: 'tcp', TargetPort: 80, PublishedPort: chosen, PublishMode: 'host' },
      { Protocol: 'tcp', TargetPort: 81, PublishedPort: 18_081, PublishMode: 'host' },
    ],
  });
});
