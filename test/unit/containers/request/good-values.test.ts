import { expect, test } from 'vitest';
import type { ContainerConfig, ContainerCreateRequest } from '../../../../api/types/container.ts';
import type { HostConfig } from '../../../../api/types/host-config.ts';
import { engineDefaults } from '../../../../daemon/containers/request/engine-defaults.ts';
import { barrenHost, capableHost } from './host-facts.ts';
import { build, buildHost, NEIGHBOUR_ID } from './build.ts';

test('the smallest request becomes a whole specification', () => {
  expect(build({})).toMatchSnapshot();
});

const image: ContainerConfig = {
  User: 'web',
  Env: ['PATH=/bin', 'A=image'],
  Cmd: ['serve'],
  Entrypoint: ['/entry'],
  WorkingDir: '/srv',
  Labels: { a: 'image', b: 'image' },
  ExposedPorts: { '80': {} },
  Volumes: { '/data/': {} },
  StopSignal: 'SIGINT',
  Healthcheck: { Test: ['CMD', 'true'] },
};

test('request and image are merged as in dockerd', () => {
  const { spec, warnings } = build(
    {
      Env: ['A=mine', 'GONE'],
      Labels: { a: 'mine', ['__proto__']: 'a label' },
      ExposedPorts: { '53/udp': {} },
      WorkingDir: '/srv//x/..',
    },
    { image },
  );
  expect({ ...spec, hostConfig: 'elsewhere', warnings }).toMatchSnapshot();
});

test.each<[string, ContainerConfig, ContainerConfig, string[]]>([
  ['the image alone', {}, { Entrypoint: ['e'], Cmd: ['c'] }, ['e', 'c']],
  ['a command of one’s own', { Cmd: ['x'] }, { Entrypoint: ['e'], Cmd: ['c'] }, ['e', 'x']],
  [
    'an entrypoint of one’s own drops the command',
    { Entrypoint: ['x'] },
    { Entrypoint: ['e'], Cmd: ['c'] },
    ['x'],
  ],
  ['both of one’s own', { Entrypoint: ['x'], Cmd: ['y'] }, { Entrypoint: ['e'], Cmd: ['c'] }, ['x', 'y']],
  ['an emptied entrypoint', { Entrypoint: [''], Cmd: ['y'] }, { Entrypoint: ['e'], Cmd: ['c'] }, ['y']],
])('the command line is right with %s', (_, request, from, commandLine) => {
  const { spec } = build(request, { image: from });
  expect([spec.path, ...spec.args]).toEqual(commandLine);
});

/** What is asked -> the part of the specification that shows it. */
test.each<[HostConfig, Partial<HostConfig>]>([
  [{ Memory: 64e6 }, { Memory: 64e6, MemorySwap: 128e6 }],
  [
    { Memory: 64e6, MemorySwap: -1 },
    { Memory: 64e6, MemorySwap: -1 },
  ],
  [{ MemorySwappiness: -1 }, { MemorySwappiness: null }],
  [{ PidsLimit: 0 }, { PidsLimit: null }],
  [{ PidsLimit: -1 }, { PidsLimit: null }],
  [{ PidsLimit: 9 }, { PidsLimit: 9 }],
  [{ CpusetCpus: '0,2-3' }, { CpusetCpus: '0,2-3' }],
  [{ NetworkMode: 'container:neighbour' }, { NetworkMode: `container:${NEIGHBOUR_ID}` }],
  [{ PidMode: 'container:neighbour' }, { PidMode: `container:${NEIGHBOUR_ID}` }],
  [{}, { IpcMode: 'private' }],
  [{ IpcMode: 'shareable' }, { IpcMode: 'shareable' }],
  [{ IpcMode: 'container:neighbour' }, { IpcMode: `container:${NEIGHBOUR_ID}` }],
  [{ Privileged: true }, { MaskedPaths: null, ReadonlyPaths: null }],
  [{ SecurityOpt: ['systempaths=unconfined'] }, { MaskedPaths: [], ReadonlyPaths: [] }],
  [
    { MaskedPaths: [], ReadonlyPaths: ['/x'] },
    { MaskedPaths: [], ReadonlyPaths: ['/x'] },
  ],
  [
    { PortBindings: { '80': [{ HostPort: '8080-8090' }] } },
    { PortBindings: { '80/tcp': [{ HostIp: '', HostPort: '8080-8090' }] } },
  ],
  [
    { RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 } },
    { RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 } },
  ],
  [
    { Devices: [{ PathOnHost: '/dev/fuse' }] },
    { Devices: [{ PathOnHost: '/dev/fuse', PathInContainer: '/dev/fuse', CgroupPermissions: 'rwm' }] },
  ],
  [{ Ulimits: [{ Name: 'core', Soft: -1, Hard: -1 }] }, { Ulimits: [{ Name: 'core', Soft: -1, Hard: -1 }] }],
  [{ ExtraHosts: ['a:::1', 'b:host-gateway'] }, { ExtraHosts: ['a:::1', 'b:host-gateway'] }],
  [
    { Sysctls: { 'net/ipv4/conf/eth0.1/rp_filter': '0', 'kernel.shmmax': '1' } },
    { Sysctls: { 'net/ipv4/conf/eth0.1/rp_filter': '0', 'kernel.shmmax': '1' } },
  ],
  [{ Init: false }, { Init: false }],
  [{ CgroupParent: '/ci/jobs' }, { CgroupParent: '/ci/jobs' }],
  [{ CgroupParent: 'jobs' }, { CgroupParent: 'jobs' }],
  [{ Runtime: 'io.containerd.runc.v2' }, { Runtime: 'io.containerd.runc.v2' }],
  [{ LogConfig: { Type: 'none' } }, { LogConfig: { Type: 'none', Config: {} } }],
])('create accepts %j', (asked, shown) => {
  const { spec, warnings } = buildHost(asked);
  expect({ hostConfig: spec.hostConfig, warnings }).toMatchObject({ hostConfig: shown, warnings: [] });
});

test.each([
  ['', 'shareable'],
  ['private', 'private'],
])('an IpcMode of %j is %s where the configuration says shareable', (IpcMode, shown) => {
  const { spec } = build(
    { HostConfig: { IpcMode } },
    { defaults: { ...engineDefaults, ipcMode: 'shareable' } },
  );
  expect(spec.hostConfig.IpcMode).toBe(shown);
});

test.each<[ContainerCreateRequest, string, string]>([
  [{}, 'c0ffee000000', ''],
  [{ Hostname: 'my_web.example', Domainname: 'x.org' }, 'my_web.example', 'x.org'],
  [{ HostConfig: { NetworkMode: 'host' } }, 'metal', ''],
  [{ Hostname: 'mine', HostConfig: { NetworkMode: 'host' } }, 'mine', ''],
  [{ HostConfig: { NetworkMode: 'container:neighbour' } }, 'next', 'door'],
])('%j is called %s', (request, hostname, domainname) => {
  expect(build(request).spec.config).toMatchObject({ Hostname: hostname, Domainname: domainname });
});

test('mounts come sorted by depth, each from its field', () => {
  const { spec } = build(
    {
      Volumes: { '/anonymous': {}, '/named/': {} },
      HostConfig: {
        Binds: [
          '/host/deep:/a/b/c:ro,rslave',
          'named:/named:nocopy',
          '/bare',
          'cache:/cache:ro',
          '/h:/h:delegated',
        ],
        Tmpfs: { '/run': 'size=64m,exec,mode=1777' },
        Mounts: [
          {
            Type: 'bind',
            Source: '/src',
            Target: '/m',
            ReadOnly: true,
            BindOptions: { ReadOnlyNonRecursive: true, NonRecursive: true },
          },
          { Type: 'bind', Source: '/missing', Target: '/made', BindOptions: { CreateMountpoint: true } },
          {
            Type: 'volume',
            Target: '/fresh',
            VolumeOptions: { Labels: { l: '1' }, DriverConfig: { Options: { o: 'x' } } },
          },
          {
            Type: 'tmpfs',
            Target: '/scratch',
            ReadOnly: true,
            TmpfsOptions: { SizeBytes: 4096, Mode: 0o1770 },
          },
        ],
      },
    },
    { image: { Volumes: { '/a/b': {}, '/../etc/x': {} } } },
  );
  expect(spec.mounts).toMatchSnapshot();
});

test('what a machine cannot enforce is dropped with a warning each', () => {
  const { spec, warnings } = buildHost(
    {
      Memory: 64e6,
      MemoryReservation: 32e6,
      MemorySwappiness: 10,
      KernelMemory: 1e7,
      OomKillDisable: true,
      PidsLimit: 5,
      CpuShares: 5,
      CpuQuota: 5000,
      CpuPercent: 5,
      CpuCount: 1,
      CpusetCpus: '0',
      BlkioWeight: 100,
      BlkioWeightDevice: [{ Path: '/dev/sda', Weight: 10 }],
      BlkioDeviceReadBps: [{ Path: '/dev/sda', Rate: 1 }],
      BlkioDeviceWriteIOps: [{ Path: '/dev/sda', Rate: 1 }],
      Privileged: true,
      Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 1_000_000 }],
    },
    barrenHost,
  );
  expect({ warnings, hostConfig: spec.hostConfig }).toMatchSnapshot();
});

test.each(['::1', '0:0:0:0:0:0:0:1'])(
  'a port at %s is taken, and it is said that calls there are refused',
  (HostIp) => {
    const { warnings } = buildHost({
      PortBindings: {
        '80/tcp': [
          { HostIp: '127.0.0.1', HostPort: '8080' },
          { HostIp, HostPort: '8080' },
        ],
        '53/udp': [{ HostIp: '', HostPort: '' }],
      },
    });
    expect(warnings).toEqual([
      `Port 80/tcp at [${HostIp}]:8080 refuses connections: publish it at 127.0.0.1, or at an address of the host.`,
    ]);
  },
);

test('an image for another processor is pointed out, but to who asked for that', () => {
  const facts = { ...capableHost, imageArchitecture: 'arm64' };
  expect(build({}, { facts }).warnings).toEqual([
    "The requested image's platform (linux/amd64) does not match the detected host platform (linux/arm64) and no " +
      'specific platform was requested',
  ]);
  expect(build({}, { facts, isPlatformAsked: true }).warnings).toEqual([]);
  expect(build({}).warnings).toEqual([]);
});

test('a specification survives its row', () => {
  const { spec } = build({ HostConfig: { Binds: ['/a:/b'], Memory: 64e6 } });
  expect(JSON.parse(JSON.stringify(spec))).toEqual(spec);
});
