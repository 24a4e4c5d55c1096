import { expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import type { ContainerSpec } from '../../../api/types/swarm/container-spec.ts';
import type { TaskSpec } from '../../../api/types/swarm/task.ts';
import { containerRequest } from '../../../daemon/tasks/container-request.ts';
import type { TaskToRun } from '../../../swarm/agent/executor.ts';
import { taskToRun } from '../../support/fakes/task-rig.ts';

const LABELS = {
  'com.docker.swarm.task': '',
  'com.docker.swarm.task.id': 't'.padEnd(25, '0'),
  'com.docker.swarm.task.name': `web.1.${'t'.padEnd(25, '0')}`,
  'com.docker.swarm.node.id': 'n'.padEnd(25, '0'),
  'com.docker.swarm.service.id': 's'.padEnd(25, '0'),
  'com.docker.swarm.service.name': 'web',
};

/** What every task's container has. */
const PLAIN: ContainerCreateRequest = {
  Image: 'busybox',
  Labels: LABELS,
  Env: [],
  Tty: false,
  OpenStdin: false,
  HostConfig: { RestartPolicy: { Name: 'no' }, ReadonlyRootfs: false },
};

/** That, and what a field adds to it. */
function withPlain(more: ContainerCreateRequest): ContainerCreateRequest {
  return { ...PLAIN, ...more, HostConfig: { ...PLAIN.HostConfig, ...more.HostConfig } };
}

const HEALTH = { Test: ['CMD', 'true'], Interval: 1e9 };
const MOUNT = { Type: 'volume', Source: 'data', Target: '/data' } as const;

test.each<[string, ContainerSpec, ContainerCreateRequest]>([
  ['nothing', {}, {}],
  ['Image', { Image: 'app:1@sha256:0' }, { Image: 'app:1@sha256:0' }],
  ['Labels', { Labels: { a: 'b' } }, { Labels: { a: 'b', ...LABELS } }],
  ['Labels that pretend', { Labels: { 'com.docker.swarm.task.id': 'x' } }, {}],
  ['Command', { Command: ['a', 'b'] }, { Entrypoint: ['a', 'b'] }],
  ['Args', { Args: ['a', 'b'] }, { Cmd: ['a', 'b'] }],
  ['Command and Args', { Command: ['a'], Args: ['b'] }, { Entrypoint: ['a'], Cmd: ['b'] }],
  ['Hostname', { Hostname: 'h' }, { Hostname: 'h' }],
  ['Env', { Env: ['A=1', 'B'] }, { Env: ['A=1', 'B'] }],
  ['Dir', { Dir: '/d' }, { WorkingDir: '/d' }],
  ['User', { User: '1:2' }, { User: '1:2' }],
  ['Groups', { Groups: ['3'] }, { HostConfig: { GroupAdd: ['3'] } }],
  [
    'Privileges.NoNewPrivileges',
    { Privileges: { NoNewPrivileges: true } },
    { HostConfig: { SecurityOpt: ['no-new-privileges=true'] } },
  ],
  [
    'Privileges.SELinuxContext off',
    { Privileges: { SELinuxContext: { Disable: true } } },
    { HostConfig: { SecurityOpt: ['label=disable'] } },
  ],
  [
    'Privileges.SELinuxContext',
    { Privileges: { SELinuxContext: { Disable: false, User: 'u', Role: 'r', Type: 't', Level: 'l' } } },
    { HostConfig: { SecurityOpt: ['label=user:u', 'label=role:r', 'label=type:t', 'label=level:l'] } },
  ],
  [
    'Privileges.Seccomp default',
    { Privileges: { Seccomp: { Mode: 'default' } } },
    { HostConfig: { SecurityOpt: [] } },
  ],
  [
    'Privileges.Seccomp unconfined',
    { Privileges: { Seccomp: { Mode: 'unconfined' } } },
    { HostConfig: { SecurityOpt: ['seccomp=unconfined'] } },
  ],
  [
    'Privileges.Seccomp of its own',
    { Privileges: { Seccomp: { Mode: 'custom', Profile: Buffer.from('{"x":1}').toString('base64') } } },
    { HostConfig: { SecurityOpt: ['seccomp={"x":1}'] } },
  ],
  [
    'Privileges.AppArmor',
    { Privileges: { AppArmor: { Mode: 'disabled' } } },
    { HostConfig: { SecurityOpt: ['apparmor=unconfined'] } },
  ],
  ['Init', { Init: false }, { HostConfig: { Init: false } }],
  ['StopSignal', { StopSignal: 'SIGINT' }, { StopSignal: 'SIGINT' }],
  ['StopGracePeriod', { StopGracePeriod: 2.5e9 }, { StopTimeout: 3 }],
  ['StopGracePeriod of 0', { StopGracePeriod: 0 }, { StopTimeout: 0 }],
  ['TTY', { TTY: true }, { Tty: true }],
  ['OpenStdin', { OpenStdin: true }, { OpenStdin: true }],
  ['ReadOnly', { ReadOnly: true }, { HostConfig: { ReadonlyRootfs: true } }],
  ['Mounts', { Mounts: [MOUNT] }, { HostConfig: { Mounts: [MOUNT] } }],
  ['Healthcheck', { Healthcheck: HEALTH }, { Healthcheck: HEALTH }],
  [
    'Hosts',
    { Hosts: ['10.0.0.1 one uno', ' ::1\ttwo ', 'alone'] },
    { HostConfig: { ExtraHosts: ['one:10.0.0.1', 'two:::1'] } },
  ],
  [
    'DNSConfig',
    { DNSConfig: { Nameservers: ['1.1.1.1'], Search: ['lan'], Options: ['ndots:1'] } },
    { HostConfig: { Dns: ['1.1.1.1'], DnsSearch: ['lan'], DnsOptions: ['ndots:1'] } },
  ],
  ['DNSConfig that is empty', { DNSConfig: {} }, { HostConfig: { Dns: [], DnsSearch: [], DnsOptions: [] } }],
  ['Isolation', { Isolation: 'default' }, { HostConfig: { Isolation: 'default' } }],
  [
    'Sysctls',
    { Sysctls: { 'net.ipv4.ip_forward': '1' } },
    { HostConfig: { Sysctls: { 'net.ipv4.ip_forward': '1' } } },
  ],
  ['CapabilityAdd', { CapabilityAdd: ['NET_ADMIN'] }, { HostConfig: { CapAdd: ['NET_ADMIN'] } }],
  ['CapabilityDrop', { CapabilityDrop: ['ALL'] }, { HostConfig: { CapDrop: ['ALL'] } }],
  [
    'Ulimits',
    { Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }] },
    { HostConfig: { Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }] } },
  ],
  ['OomScoreAdj', { OomScoreAdj: -5 }, { HostConfig: { OomScoreAdj: -5 } }],
  ['OomScoreAdj of 0', { OomScoreAdj: 0 }, { HostConfig: { OomScoreAdj: 0 } }],
])('container of a task: %s', (_title, ContainerSpec, expected) => {
  expect(containerRequest(taskToRun({ ContainerSpec }), [])).toEqual(withPlain(expected));
});

test.each<[string, TaskSpec, Partial<TaskToRun>, ContainerCreateRequest]>([
  [
    'limits',
    { Resources: { Limits: { NanoCPUs: 5e8, MemoryBytes: 2 ** 26, Pids: 9 } } },
    {},
    { HostConfig: { NanoCpus: 5e8, Memory: 2 ** 26, PidsLimit: 9 } },
  ],
  [
    'reservations, of which memory alone means something to the kernel',
    { Resources: { Reservations: { NanoCPUs: 5e8, MemoryBytes: 2 ** 26 } } },
    {},
    { HostConfig: { MemoryReservation: 2 ** 26 } },
  ],
  [
    'swap, which a container counts together with memory',
    { Resources: { Limits: { MemoryBytes: 2 ** 26 }, SwapBytes: 2 ** 20, MemorySwappiness: 0 } },
    {},
    { HostConfig: { Memory: 2 ** 26, MemorySwap: 2 ** 26 + 2 ** 20, MemorySwappiness: 0 } },
  ],
  [
    'no swap',
    { Resources: { Limits: { MemoryBytes: 2 ** 26 }, SwapBytes: 0 } },
    {},
    { HostConfig: { Memory: 2 ** 26, MemorySwap: 2 ** 26 } },
  ],
  [
    'swap without a limit',
    { Resources: { Limits: { MemoryBytes: 2 ** 26 }, SwapBytes: -1 } },
    {},
    { HostConfig: { Memory: 2 ** 26, MemorySwap: -1 } },
  ],
  [
    'generic resources',
    {},
    {
      generic: [
        { NamedResourceSpec: { Kind: 'gpu', Value: 'a' } },
        { DiscreteResourceSpec: { Kind: 'disk', Value: 3 } },
        { NamedResourceSpec: { Kind: 'gpu', Value: 'b' } },
      ],
    },
    { Env: ['DOCKER_RESOURCE_GPU=a,b', 'DOCKER_RESOURCE_DISK=3'] },
  ],
  [
    'its own log driver',
    { LogDriver: { Name: 'none' } },
    { logDriver: { Name: 'syslog' } },
    { HostConfig: { LogConfig: { Type: 'none', Config: {} } } },
  ],
  [
    "the swarm's log driver",
    {},
    { logDriver: { Name: 'json-file', Options: { 'max-size': '1m' } } },
    { HostConfig: { LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } } } },
  ],
  [
    'host ports',
    {},
    {
      hostPorts: [
        { Protocol: 'tcp', TargetPort: 80, PublishedPort: 8080, PublishMode: 'host' },
        { Protocol: 'tcp', TargetPort: 80, PublishedPort: 8081, PublishMode: 'host' },
        { Protocol: 'udp', TargetPort: 53, PublishMode: 'host' },
      ],
    },
    {
      ExposedPorts: { '80/tcp': {}, '53/udp': {} },
      HostConfig: {
        PortBindings: {
          '80/tcp': [{ HostPort: '8080' }, { HostPort: '8081' }],
          '53/udp': [{ HostPort: '' }],
        },
      },
    },
  ],
])('container of a task: %s', (_title, spec, more, expected) => {
  expect(containerRequest(taskToRun(spec, more), [])).toEqual(withPlain(expected));
});

test('container of a task: networks with names have its service as an alias, the first one is its main one', () => {
  const networks = [
    { name: 'lan', config: { Aliases: ['x', 'web'] }, isIngress: false },
    { name: 'host', config: { DriverOpts: { o: '1' } }, isIngress: false },
  ];
  expect(containerRequest(taskToRun({}), networks)).toEqual(
    withPlain({
      HostConfig: { NetworkMode: 'lan' },
      NetworkingConfig: {
        EndpointsConfig: { lan: { Aliases: ['x', 'web'] }, host: { DriverOpts: { o: '1' } } },
      },
    }),
  );
});

test.each<[string, ContainerSpec]>([
  ['a credential spec', { Privileges: { CredentialSpec: { File: 'x' } } }],
  ['a config as one', { Configs: [{ ConfigID: 'c', ConfigName: 'c', Runtime: {} }] }],
  ['a seccomp mode', { Privileges: { Seccomp: { Mode: 'x' } } }],
  ['an AppArmor mode', { Privileges: { AppArmor: { Mode: 'x' } } }],
])('container of a task: refuses %s', (_title, ContainerSpec) => {
  expect(() => containerRequest(taskToRun({ ContainerSpec }), [])).toThrow(
    expect.objectContaining({ code: 'invalid_argument' }),
  );
});

test('container of a task: in networks of the swarm it has the addresses that it was given, and no alias', () => {
  const networks = [
    { name: 'ingress', config: {}, addresses: ['10.0.0.7'], isIngress: true },
    { name: 'back', config: { Aliases: ['x'] }, addresses: ['10.0.1.3', 'fd00::3'], isIngress: false },
  ];
  expect(containerRequest(taskToRun({}), networks)).toEqual(
    withPlain({
      HostConfig: { NetworkMode: 'back' },
      NetworkingConfig: {
        EndpointsConfig: {
          ingress: { IPAMConfig: { IPv4Address: '10.0.0.7' } },
          back: { IPAMConfig: { IPv4Address: '10.0.1.3', IPv6Address: 'fd00::3' } },
        },
      },
    }),
  );
});
