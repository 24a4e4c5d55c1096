import { expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { engineId } from '../../../daemon/system/engine-id.ts';
import { liveFacts } from '../../../daemon/system/live-facts.ts';
import type { SystemSettings } from '../../../daemon/system/ports.ts';
import { System } from '../../../daemon/system/system.ts';
import type { SystemDeps } from '../../../daemon/system/system.ts';
import { openDatabase } from '../../../storage/database/index.ts';

const SETTINGS: SystemSettings = {
  debug: true,
  labels: ['rack=12'],
  dataRoot: '/var/lib/berth',
  storageDriver: 'overlay2',
  logDriver: 'json-file',
  defaultRuntime: 'crun',
  runtimes: {
    crun: { path: 'crun', runtimeArgs: [] },
    verbose: { path: '/usr/bin/crun', runtimeArgs: ['--debug'] },
  },
  liveRestore: true,
  cdiSpecDirs: ['/etc/cdi'],
  noNewPrivileges: true,
  seccompProfile: 'builtin',
  apparmorProfile: null,
  privateCgroupNamespaces: true,
  insecureRegistries: ['10.0.0.0/8', 'registry.example.org:5000'],
  addressPools: [{ base: '10.10.0.0/16', size: 24 }],
  genericResources: [{ NamedResourceSpec: { Kind: 'gpu', Value: 'UUID1' } }],
  registryMirrors: ['https://mirror.example.org'],
  warnings: ['WARNING: of the configuration'],
};

const DEPS: SystemDeps = {
  engineId: 'ID-1',
  build: {
    version: '0.1.0',
    apiVersion: '1.44',
    minApiVersion: '1.24',
    commit: 'abc1234',
    time: '2026-11-21T10:00:00Z',
    sqliteVersion: '3.53.2',
  },
  facts: {
    hostname: 'host1',
    kernelVersion: '6.1.0',
    operatingSystem: 'Debian GNU/Linux 12 (bookworm)',
    osVersion: '12',
    architecture: 'x86_64',
    imageArchitecture: 'amd64',
    cpus: 2,
    memoryBytes: 8_000_000_000,
    cgroup: {
      version: 1,
      driver: 'cgroupfs',
      mounts: {},
      memoryLimit: true,
      swapLimit: false,
      memoryReservation: true,
      memorySwappiness: true,
      oomKillDisable: true,
      cpuShares: true,
      cpuCfs: true,
      cpuRealtime: false,
      cpuset: true,
      cpusetCpus: '0-1',
      cpusetMems: '0',
      pidsLimit: true,
      blkioWeight: false,
      blkioWeightDevice: false,
      blkioReadBps: true,
      blkioWriteBps: true,
      blkioReadIops: true,
      blkioWriteIops: true,
    },
    cgroupNamespaces: true,
    seccomp: true,
    components: {
      runc: { path: '/usr/sbin/runc', version: '1.1.5', commit: '' },
      conmon: { path: '/usr/bin/conmon', version: '2.1.6', commit: 'c0ffee' },
      nft: null,
      init: { path: '/usr/bin/tini-static', version: '0.19.0', commit: 'de40ad0' },
    },
    warnings: ['WARNING: No swap limit support', 'WARNING: IPv4 forwarding is disabled'],
  },
  live: {
    isOn: (sysctl) => sysctl === 'net/ipv4/ip_forward',
    openFiles: () => 31,
    activeResources: () => 7,
    fileSystem: (path) => (path === '/var/lib/berth' ? 'extfs' : 'wrong path'),
  },
  settings: () => SETTINGS,
  volumeDrivers: () => Promise.resolve(['local']),
  counts: () => ({ running: 2, paused: 1, stopped: 4, images: 5 }),
  diskUsage: () => Promise.reject(new Error('not asked for here')),
  describedDevices: () => ['vendor.com/gpu=0'],
  eventListeners: () => 3,
  environment: { https_proxy: 'http://me:secret@proxy:3128/', NO_PROXY: 'localhost' },
  clock: {
    nowNano: () => 1_700_000_000_123_456_789n,
    monotonicMs: () => 0,
    setTimeout: () => ({ [Symbol.dispose]: () => undefined }),
  },
};

test('info: tells the truth in every field', async () => {
  expect(await new System(DEPS).info()).toMatchInlineSnapshot(`
    {
      "Architecture": "x86_64",
      "BridgeNfIp6tables": false,
      "BridgeNfIptables": false,
      "CDISpecDirs": [
        "/etc/cdi",
      ],
      "CPUSet": true,
      "CPUShares": true,
      "CgroupDriver": "cgroupfs",
      "CgroupVersion": "1",
      "ContainerdCommit": {
        "ID": "",
      },
      "Containers": 7,
      "ContainersPaused": 1,
      "ContainersRunning": 2,
      "ContainersStopped": 4,
      "CpuCfsPeriod": true,
      "CpuCfsQuota": true,
      "Debug": true,
      "DefaultAddressPools": [
        {
          "Base": "10.10.0.0/16",
          "Size": 24,
        },
      ],
      "DefaultRuntime": "crun",
      "DiscoveredDevices": [
        {
          "ID": "vendor.com/gpu=0",
          "Source": "cdi",
        },
      ],
      "DockerRootDir": "/var/lib/berth",
      "Driver": "overlay2",
      "DriverStatus": [
        [
          "Backing Filesystem",
          "extfs",
        ],
        [
          "Supports d_type",
          "true",
        ],
        [
          "driver-type",
          "io.containerd.snapshotter.v1",
        ],
      ],
      "ExperimentalBuild": false,
      "FirewallBackend": {
        "Driver": "nftables",
      },
      "GenericResources": [
        {
          "NamedResourceSpec": {
            "Kind": "gpu",
            "Value": "UUID1",
          },
        },
      ],
      "HttpProxy": "",
      "HttpsProxy": "http://xxxxx:xxxxx@proxy:3128/",
      "ID": "ID-1",
      "IPv4Forwarding": true,
      "Images": 5,
      "IndexServerAddress": "https://index.docker.io/v1/",
      "InitBinary": "/usr/bin/tini-static",
      "InitCommit": {
        "ID": "de40ad0",
      },
      "Isolation": "",
      "KernelVersion": "6.1.0",
      "Labels": [
        "rack=12",
      ],
      "LiveRestoreEnabled": true,
      "LoggingDriver": "json-file",
      "MemTotal": 8000000000,
      "MemoryLimit": true,
      "NCPU": 2,
      "NEventsListener": 3,
      "NFd": 31,
      "NGoroutines": 7,
      "Name": "host1",
      "NoProxy": "localhost",
      "OSType": "linux",
      "OSVersion": "12",
      "OomKillDisable": true,
      "OperatingSystem": "Debian GNU/Linux 12 (bookworm)",
      "PidsLimit": true,
      "Plugins": {
        "Authorization": null,
        "Log": [
          "awslogs",
          "fluentd",
          "gelf",
          "journald",
          "json-file",
          "local",
          "splunk",
          "syslog",
        ],
        "Network": [
          "bridge",
          "host",
          "ipvlan",
          "macvlan",
          "null",
          "overlay",
        ],
        "Volume": [
          "local",
        ],
      },
      "RegistryConfig": {
        "IndexConfigs": {
          "docker.io": {
            "Mirrors": [
              "https://mirror.example.org/",
            ],
            "Name": "docker.io",
            "Official": true,
            "Secure": true,
          },
          "registry.example.org:5000": {
            "Mirrors": [],
            "Name": "registry.example.org:5000",
            "Official": false,
            "Secure": false,
          },
        },
        "InsecureRegistryCIDRs": [
          "10.0.0.0/8",
          "::1/128",
          "127.0.0.0/8",
        ],
        "Mirrors": [
          "https://mirror.example.org/",
        ],
      },
      "RuncCommit": {
        "ID": "1.1.5",
      },
      "Runtimes": {
        "crun": {
          "path": "crun",
        },
        "runc": {
          "path": "/usr/sbin/runc",
        },
        "verbose": {
          "path": "/usr/bin/crun",
          "runtimeArgs": [
            "--debug",
          ],
        },
      },
      "SecurityOptions": [
        "name=seccomp,profile=builtin",
        "name=cgroupns",
        "name=no-new-privileges",
      ],
      "ServerVersion": "0.1.0",
      "SwapLimit": false,
      "SystemStatus": null,
      "SystemTime": "2023-11-14T22:13:20.123456789Z",
      "Warnings": [
        "WARNING: No swap limit support",
        "WARNING: of the configuration",
      ],
    }
  `);
});

test('info: follows the settings and the kernel', async () => {
  const system = new System({
    ...DEPS,
    live: { ...DEPS.live, isOn: () => false },
    settings: () => ({ ...SETTINGS, apparmorProfile: 'berth-default', noNewPrivileges: false, warnings: [] }),
  });
  const { IPv4Forwarding, Warnings, SecurityOptions } = await system.info();
  expect({ IPv4Forwarding, Warnings, SecurityOptions }).toEqual({
    IPv4Forwarding: false,
    Warnings: DEPS.facts.warnings,
    SecurityOptions: ['name=apparmor', 'name=seccomp,profile=builtin', 'name=cgroupns'],
  });
});

test('version: names the engine and what it stands on', async () => {
  const answer = await new System(DEPS).version();
  expect({ ...answer, GoVersion: answer.GoVersion.replace(process.versions.node, 'N') }).toMatchObject({
    Platform: { Name: 'Berth' },
    Version: '0.1.0',
    ApiVersion: '1.44',
    MinAPIVersion: '1.24',
    GitCommit: 'abc1234',
    GoVersion: 'nodeN',
    Os: 'linux',
    Arch: 'amd64',
    KernelVersion: '6.1.0',
    BuildTime: '2026-11-21T10:00:00Z',
  });
  expect(
    answer.Components.map(({ Name, Version, Details }) => [Name, Version, Details['GitCommit']]),
  ).toEqual([
    ['Engine', '0.1.0', 'abc1234'],
    ['runc', '1.1.5', undefined],
    ['conmon', '2.1.6', 'c0ffee'],
    ['SQLite', '3.53.2', undefined],
  ]);
});

test('engineId: is made once for a data root', () => {
  const database = openDatabase(':memory:', silentLogger);
  const id = engineId(database);
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(engineId(database)).toBe(id);
});

test('liveFacts: answers for this machine', () => {
  expect(liveFacts.isOn('net/none/such')).toBe(false);
  expect(liveFacts.openFiles()).toBeGreaterThan(3);
  expect(liveFacts.activeResources()).toBeGreaterThanOrEqual(0);
  expect(liveFacts.fileSystem('/')).toMatch(/^[a-z0-9]+$/);
});
