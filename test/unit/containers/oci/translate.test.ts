import { expect, test } from 'vitest';
import type { HostConfig } from '../../../../api/types/host-config.ts';
import { buildExecProcess } from '../../../../daemon/containers/oci/process.ts';
import { propagationProblem } from '../../../../daemon/containers/oci/propagation.ts';
import { translate } from '../../../../daemon/containers/oci/translate.ts';
import type { LaunchFacts } from '../../../../daemon/containers/oci/translate.ts';
import { engineDefaults } from '../../../../daemon/containers/request/engine-defaults.ts';
import type { OciSpec } from '../../../../runtime/runc/spec-types.ts';
import { build, CONTAINER_ID, NEIGHBOUR_ID } from '../request/build.ts';
import { barrenHost, capableHost } from '../request/host-facts.ts';

const root = { uid: 0, gid: 0, additionalGids: [0], home: '/root' };
const facts: LaunchFacts = {
  host: capableHost,
  defaults: engineDefaults,
  user: root,
  rootPath: '/data/root',
  cgroupsPath: `/berth/${CONTAINER_ID}`,
  netnsPath: '/run/berth/netns/1',
  files: { hostname: '/f/hostname', hosts: '/f/hosts', resolvConf: '/f/resolv.conf' },
  sharedMemory: '/f/shm',
  pinnedSources: new Map(),
  volumePaths: new Map([['data', '/volumes/data/_data']]),
  devices: { devices: [], rules: [] },
  blockDevices: new Map([['/dev/sda', { major: 8, minor: 0 }]]),
  hasQuota: false,
};

/** The filter has a test of its own; here only whether there is one. */
function withoutFilter(spec: OciSpec): unknown {
  return { ...spec, linux: { ...spec.linux, seccomp: spec.linux.seccomp && 'a filter' } };
}

test('the smallest container', () => {
  expect(withoutFilter(translate(build({}).spec, facts))).toMatchSnapshot();
});

test('a container with everything', () => {
  const { spec } = build({
    Domainname: 'example.org',
    User: 'web',
    Tty: true,
    Env: ['A=1', 'PATH=/bin', 'HOSTNAME'],
    Cmd: ['run', 'me'],
    WorkingDir: '/srv',
    HostConfig: {
      Init: true,
      ReadonlyRootfs: true,
      Binds: ['/host:/mnt:ro,rshared', 'data:/data:ro', '/etc/my-hosts:/etc/hosts'],
      Tmpfs: { '/run': 'size=1m' },
      CapDrop: ['ALL'],
      CapAdd: ['net_admin', 'CAP_CHOWN'],
      SecurityOpt: ['no-new-privileges', 'seccomp=unconfined'],
      Sysctls: { 'net.ipv4.ip_unprivileged_port_start': '1024' },
      Ulimits: [
        { Name: 'nofile', Soft: 100, Hard: 100_000 },
        { Name: 'core', Soft: -1, Hard: -1 },
      ],
      Memory: 64e6,
      MemoryReservation: 32e6,
      MemorySwappiness: 0,
      OomKillDisable: true,
      NanoCpus: 1.5e9,
      CpuShares: 512,
      CpusetCpus: '0-1',
      PidsLimit: 100,
      BlkioWeight: 300,
      BlkioDeviceReadBps: [{ Path: '/dev/sda', Rate: 1000 }],
      DeviceCgroupRules: ['c 10:* rw', 'a *:* m'],
      OomScoreAdj: -900,
      CgroupnsMode: 'private',
      IpcMode: 'none',
      PidMode: '',
      ConsoleSize: [24, 80],
      ShmSize: 1024,
      Annotations: { a: 'b' },
    },
  });
  const oci = translate(spec, {
    ...facts,
    user: { uid: 33, gid: 33, additionalGids: [33], home: '/srv/web' },
    devices: {
      devices: [{ type: 'c', path: '/dev/x', major: 10, minor: 1, fileMode: 0o600, uid: 0, gid: 0 }],
      rules: [{ allow: true, type: 'c', major: 10, minor: 1, access: 'r' }],
    },
  });
  expect(withoutFilter(oci)).toMatchSnapshot();
});

test('a privileged container in the host’s namespaces', () => {
  const { spec } = build({
    HostConfig: {
      Privileged: true,
      NetworkMode: 'host',
      PidMode: 'host',
      IpcMode: 'host',
      UTSMode: 'host',
      Init: true,
    },
  });
  const oci = translate(spec, { ...facts, netnsPath: null });
  expect(withoutFilter(oci)).toMatchSnapshot();
});

test.each<[HostConfig, Partial<LaunchFacts>, object]>([
  [
    { PidMode: 'container:neighbour' },
    { pidNamespacePath: '/proc/7/ns/pid' },
    { namespaces: expect.arrayContaining([{ type: 'pid', path: '/proc/7/ns/pid' }]) },
  ],
  [
    { IpcMode: 'container:neighbour' },
    { ipcNamespacePath: '/proc/7/ns/ipc' },
    { namespaces: expect.arrayContaining([{ type: 'ipc', path: '/proc/7/ns/ipc' }]) },
  ],
  [{ Privileged: true, SecurityOpt: ['seccomp=builtin'] }, {}, { seccomp: expect.any(Object) }],
  [{ Binds: ['/h:/sys/fs/cgroup'] }, {}, { readonlyPaths: expect.not.arrayContaining(['/sys/fs/cgroup']) }],
])('%j reaches the kernel part', (HostConfig, extra, linux) => {
  expect(translate(build({ HostConfig }).spec, { ...facts, ...extra }).linux).toMatchObject(linux);
});

test.each<[HostConfig, string | undefined]>([
  [{ IpcMode: 'private' }, 'shm'],
  [{ IpcMode: 'none' }, undefined],
  [{ IpcMode: 'host' }, '/dev/shm'],
  [{ IpcMode: 'shareable' }, '/f/shm'],
  [{ IpcMode: 'container:neighbour' }, '/f/shm'],
  [{ IpcMode: 'shareable', Tmpfs: { '/dev/shm': '' } }, 'tmpfs'],
])('%j: /dev/shm comes from %s', (HostConfig, source) => {
  const { mounts } = translate(build({ HostConfig }).spec, facts);
  const found = mounts.filter(({ destination }) => destination === '/dev/shm');
  expect(found.map((mount) => mount.source)).toEqual(source === undefined ? [] : [source]);
});

test('a network of another container gets no network parameters from this one', () => {
  const { spec } = build({ HostConfig: { NetworkMode: 'container:neighbour' } });
  expect(spec.hostConfig.NetworkMode).toBe(`container:${NEIGHBOUR_ID}`);
  expect(translate(spec, facts).linux.sysctl).toEqual({ 'kernel.domainname': 'door' });
});

test('what the daemon cannot give is cut to what it has', () => {
  const { spec } = build({
    HostConfig: {
      Privileged: true,
      OomScoreAdj: -900,
      Ulimits: [{ Name: 'nofile', Soft: 50_000, Hard: -1 }],
    },
  });
  const { process } = translate(spec, { ...facts, host: barrenHost });
  expect(process).toMatchObject({
    oomScoreAdj: -500,
    rlimits: [{ type: 'RLIMIT_NOFILE', hard: 20_000, soft: 20_000 }],
  });
  expect(process.capabilities?.bounding).toEqual(barrenHost.boundingSet);
});

test('an exec shares the sandbox of its container', () => {
  const { spec } = build({
    Env: ['A=1', 'B=2'],
    WorkingDir: '/srv',
    HostConfig: { CapDrop: ['ALL'], CapAdd: ['CHOWN'], SecurityOpt: ['no-new-privileges'] },
  });
  const exec = buildExecProcess(
    spec,
    { Cmd: ['id'], Env: ['B=3', 'A'], Tty: true, ConsoleSize: [24, 80], User: '33' },
    { host: capableHost, defaults: engineDefaults, user: { ...root, uid: 33 } },
  );
  expect(exec).toMatchSnapshot();
  const privileged = buildExecProcess(
    spec,
    { Cmd: ['id'], Privileged: true, WorkingDir: '/x' },
    { host: capableHost, defaults: engineDefaults, user: root },
  );
  expect(privileged).toMatchObject({
    cwd: '/x',
    noNewPrivileges: true,
    capabilities: { effective: capableHost.boundingSet, inheritable: [], ambient: [] },
  });
});

test.each([
  [{ Cmd: [] }, 'No exec command specified'],
  [{}, 'No exec command specified'],
  [{ Cmd: ['a\0'] }, 'Cmd.0 cannot hold a NUL character'],
  [{ Cmd: ['a'], Env: ['=1'] }, "invalid environment variable: entry 0 has no name before its '='"],
  [
    { Cmd: ['a'], WorkingDir: '/proc/self/fd/7' },
    "the working directory '/proc/self/fd/7' is invalid, it names an open file of a process",
  ],
])('exec %j is refused', (request, text) => {
  expect(() =>
    buildExecProcess(build({}).spec, request, { host: capableHost, defaults: engineDefaults, user: root }),
  ).toThrow(text);
});

const mountinfo = `
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:5 / /a rw - tmpfs tmpfs rw
23 21 0:6 / /a/b\\040c rw master:7 - tmpfs tmpfs rw`;

test.each([
  ['/x', 'rshared', undefined],
  ['/ab', 'shared', undefined],
  ['/a/x', 'rslave', 'path /a/x is mounted on /a but it is not a shared or slave mount'],
  ['/a/b c/x', 'slave', undefined],
  ['/a/b c', 'shared', 'path /a/b c is mounted on /a/b c but it is not a shared mount'],
])('a bind of %s as %s is checked against the host', (source, propagation, problem) => {
  expect(propagationProblem(source, propagation, mountinfo)).toBe(problem);
});

test.each([
  [{}, 15, '10000000'],
  [{ StopSignal: 'SIGINT', StopTimeout: 3 }, 2, '3000000'],
  [{ StopTimeout: -1 }, 15, '18446744073709551615'],
])('under systemd the scope of %j ends as the container would', (request, signal, timeout) => {
  const host = { ...capableHost, cgroup: { ...capableHost.cgroup, driver: 'systemd' as const } };
  const Annotations = { 'org.systemd.property.CollectMode': "'inactive'", mine: '1' };
  expect(translate(build(request).spec, { ...facts, host }).annotations).toEqual({
    'org.systemd.property.CollectMode': "'inactive-or-failed'",
    'org.systemd.property.KillSignal': `int32 ${signal}`,
    'org.systemd.property.TimeoutStopUSec': `uint64 ${timeout}`,
  });
  const asked = translate(build({ ...request, HostConfig: { Annotations } }).spec, { ...facts, host });
  expect(asked.annotations).toMatchObject(Annotations);
});
