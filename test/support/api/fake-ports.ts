/**
 * A small engine that answers from fixed, complete bodies of API 1.55. A test replaces single methods:
 * `fakePorts({ containers: { inspect: () => Promise.reject(notFound('...')) } })`.
 */
import type { Duplex } from 'node:stream';
import { Readable } from 'node:stream';
import type { Conversation, EnginePorts } from '../../../api/types/ports.ts';
import type { ContainerInspect, ContainerSummary, PathStat } from '../../../api/types/container.ts';
import type { ExecInspect } from '../../../api/types/exec.ts';
import type { ImageInspect, ImageSummary, LegacyImage } from '../../../api/types/image.ts';
import type {
  DiskUsage,
  EventMessage,
  LegacyInfo,
  NetworkInspect,
  SystemInfo,
  VersionResponse,
  VolumeView,
} from '../../../api/types/system.ts';
import { noSwarm } from './no-swarm.ts';
import { STATS } from './fake-stats.ts';

const SENT_STAT = {
  path: 'file',
  type: 'file' as const,
  mode: 0o644,
  uid: 0,
  gid: 0,
  size: 4,
  mtime: 0n,
  linkName: '',
  attributes: new Map<string, Buffer>(),
};
const ID = 'a1b2'.repeat(16);

export const CONTAINER: ContainerInspect = {
  Id: ID,
  Created: '2026-11-21T09:00:00.000000001Z',
  Path: 'sh',
  Args: ['-c', 'true'],
  State: {
    Status: 'running',
    Running: true,
    Paused: false,
    Restarting: false,
    OOMKilled: false,
    Dead: false,
    Pid: 42,
    ExitCode: 0,
    Error: '',
    StartedAt: '2026-11-21T09:00:01.000000001Z',
    FinishedAt: '0001-01-01T00:00:00Z',
  },
  Image: `sha256:${ID}`,
  ResolvConfPath: '/r',
  HostnamePath: '/h',
  HostsPath: '/hosts',
  LogPath: '/log',
  Name: '/web',
  RestartCount: 0,
  Driver: 'overlay2',
  Platform: 'linux',
  MountLabel: '',
  ProcessLabel: '',
  AppArmorProfile: '',
  ExecIDs: null,
  HostConfig: { Binds: null, NetworkMode: 'default', AutoRemove: false, Memory: 1024, Init: null },
  GraphDriver: { Name: 'overlay2', Data: null },
  SizeRw: 1,
  SizeRootFs: 2,
  Mounts: [{ Type: 'bind', Source: '/a', Destination: '/b', Mode: '', RW: true, Propagation: 'rprivate' }],
  Config: { Hostname: 'h', Env: ['A=b'], Cmd: ['sh'], Image: 'busybox', Labels: {}, StopTimeout: 3 },
  NetworkSettings: {
    SandboxID: '',
    SandboxKey: '',
    Ports: {},
    Networks: { bridge: { NetworkID: 'n', IPAddress: '172.17.0.2', DNSNames: null } },
  },
};

export const CONTAINER_SUMMARY: ContainerSummary = {
  Id: ID,
  Names: ['/web'],
  Image: 'busybox',
  ImageID: `sha256:${ID}`,
  Command: "sh -c 'true'",
  Created: 1_780_000_000,
  Ports: [{ PrivatePort: 80, PublicPort: 8080, Type: 'tcp' }],
  SizeRw: 1,
  SizeRootFs: 2,
  Labels: {},
  State: 'running',
  Status: 'Up 2 seconds',
  Health: { Status: 'none', FailingStreak: 0 },
  HostConfig: { NetworkMode: 'default' },
  NetworkSettings: { Networks: { bridge: { NetworkID: 'n' } } },
  Mounts: CONTAINER.Mounts,
};

const PATH_STAT: PathStat = {
  name: 'etc',
  size: 4096,
  mode: 2_147_484_141,
  mtime: '2026-11-21T09:00:00Z',
  linkTarget: '',
};

export const EXEC: ExecInspect = {
  ID,
  Running: true,
  ExitCode: null,
  ProcessConfig: { tty: false, entrypoint: 'sh', arguments: ['-c', 'true'], privileged: false },
  OpenStdin: false,
  OpenStderr: true,
  OpenStdout: true,
  CanRemove: false,
  ContainerID: ID,
  DetachKeys: '',
  Pid: 43,
};

export const IMAGE: ImageInspect = {
  Id: `sha256:${ID}`,
  RepoTags: ['busybox:latest'],
  RepoDigests: [],
  Created: '2026-11-21T09:00:00Z',
  Config: { Cmd: ['sh'] },
  Architecture: 'amd64',
  Os: 'linux',
  Size: 1000,
  GraphDriver: { Name: 'overlay2', Data: null },
  RootFS: { Type: 'layers', Layers: [`sha256:${ID}`] },
  Metadata: { LastTagTime: '0001-01-01T00:00:00Z' },
};

export const LEGACY_IMAGE: LegacyImage = {
  Parent: '',
  Comment: '',
  DockerVersion: '',
  Author: '',
  Config: { Hostname: 'h', Cmd: ['sh'], Env: [], Labels: null },
  Container: '',
  ContainerConfig: { Cmd: ['x'] },
};

export const IMAGE_SUMMARY: ImageSummary = {
  Id: `sha256:${ID}`,
  ParentId: '',
  RepoTags: [],
  RepoDigests: [],
  Created: 1_780_000_000,
  Size: 1000,
  SharedSize: -1,
  Labels: null,
  Containers: -1,
};

export const NETWORK: NetworkInspect = {
  Name: 'bridge',
  Id: ID,
  Created: '2026-11-21T09:00:00Z',
  Scope: 'local',
  Driver: 'bridge',
  EnableIPv4: true,
  EnableIPv6: false,
  IPAM: { Driver: 'default', Options: null, Config: [{ Subnet: '172.17.0.0/16' }] },
  Internal: false,
  Attachable: false,
  Ingress: false,
  ConfigFrom: { Network: '' },
  ConfigOnly: false,
  Containers: {
    [ID]: {
      Name: 'web',
      EndpointID: 'e',
      MacAddress: '02:42:ac:11:00:02',
      IPv4Address: '172.17.0.2/16',
      IPv6Address: '',
    },
  },
  Options: {},
  Labels: {},
};

export const VOLUME: VolumeView = {
  Name: 'data',
  Driver: 'local',
  Mountpoint: '/var/lib/x',
  CreatedAt: '2026-11-21T09:00:00Z',
  Labels: null,
  Scope: 'local',
  Options: null,
};

export const EVENT: EventMessage = {
  Type: 'container',
  Action: 'start',
  Actor: { ID, Attributes: { image: 'busybox', name: 'web' } },
  scope: 'local',
  time: 1_780_000_000,
  timeNano: 1_780_000_000_123_456_789n,
};

export const VERSION: VersionResponse = {
  Platform: { Name: 'Berth' },
  Components: [],
  Version: '0.1.0',
  ApiVersion: '1.55',
  MinAPIVersion: '1.24',
  GitCommit: '',
  GoVersion: '',
  Os: 'linux',
  Arch: 'amd64',
  KernelVersion: '6.1',
  BuildTime: '',
};

export const INFO: SystemInfo & LegacyInfo = {
  ID: 'i',
  Containers: 1,
  ContainersRunning: 1,
  ContainersPaused: 0,
  ContainersStopped: 0,
  Images: 1,
  Driver: 'overlay2',
  DriverStatus: [['Backing Filesystem', 'extfs']],
  SystemStatus: null,
  DockerRootDir: '/var/lib/berth',
  Plugins: { Volume: ['local'], Network: ['bridge'], Authorization: null, Log: ['json-file', 'local'] },
  MemoryLimit: true,
  SwapLimit: true,
  CpuCfsPeriod: true,
  CpuCfsQuota: true,
  CPUShares: true,
  CPUSet: true,
  PidsLimit: true,
  IPv4Forwarding: true,
  BridgeNfIptables: false,
  BridgeNfIp6tables: false,
  Debug: false,
  NFd: 20,
  OomKillDisable: true,
  NGoroutines: 1,
  SystemTime: '2026-11-21T09:00:00Z',
  LoggingDriver: 'json-file',
  CgroupDriver: 'cgroupfs',
  CgroupVersion: '1',
  NEventsListener: 0,
  KernelVersion: '6.1',
  OperatingSystem: 'Debian',
  OSVersion: '12',
  OSType: 'linux',
  Architecture: 'x86_64',
  IndexServerAddress: 'https://index.docker.io/v1/',
  RegistryConfig: {
    InsecureRegistryCIDRs: ['127.0.0.0/8'],
    IndexConfigs: { 'docker.io': { Name: 'docker.io', Mirrors: [], Secure: true, Official: true } },
    Mirrors: null,
  },
  NCPU: 2,
  MemTotal: 1024,
  GenericResources: null,
  HttpProxy: '',
  HttpsProxy: '',
  NoProxy: '',
  Name: 'host',
  Labels: [],
  ExperimentalBuild: false,
  ServerVersion: '0.1.0',
  Runtimes: { runc: { path: 'runc' } },
  DefaultRuntime: 'runc',
  Swarm: {
    NodeID: '',
    NodeAddr: '',
    LocalNodeState: 'inactive',
    ControlAvailable: false,
    Error: '',
    RemoteManagers: null,
  },
  LiveRestoreEnabled: true,
  Isolation: '',
  InitBinary: 'docker-init',
  ContainerdCommit: { ID: '' },
  RuncCommit: { ID: '' },
  InitCommit: { ID: '' },
  SecurityOptions: ['name=seccomp,profile=default'],
  CDISpecDirs: null,
  DiscoveredDevices: [{ Source: 'cdi', ID: 'vendor.com/gpu=0' }],
  FirewallBackend: { Driver: 'nftables' },
  Warnings: null,
};

export const DISK_USAGE: DiskUsage = {
  LayersSize: 1000,
  Images: [IMAGE_SUMMARY],
  Containers: [CONTAINER_SUMMARY],
  Volumes: [{ ...VOLUME, UsageData: { Size: 10, RefCount: 1 } }],
  BuildCache: [],
};

/** A conversation that runs `talk` on the connection. */
export function conversation(tty: boolean, talk: (socket: Duplex) => Promise<void>): Conversation {
  return { tty, connect: talk, abandon: () => undefined };
}

type Overrides = { [Area in keyof EnginePorts]?: Partial<EnginePorts[Area]> };

function nothing(): Promise<void> {
  return Promise.resolve();
}

/** Every method answers; `overrides` replace single ones. */
export function fakePorts(overrides: Overrides = {}): EnginePorts {
  const base: EnginePorts = {
    containers: {
      create: () => Promise.resolve({ Id: ID, Warnings: [] }),
      inspect: () => Promise.resolve(CONTAINER),
      list: () => Promise.resolve([CONTAINER_SUMMARY]),
      start: nothing,
      stop: nothing,
      restart: nothing,
      kill: nothing,
      top: () => Promise.resolve({ Titles: ['PID'], Processes: [['1']] }),
      stats: () => Promise.resolve(STATS),
      statsStream: () => Readable.from([STATS, STATS]),
      update: () => Promise.resolve({ Warnings: [] }),
      pause: nothing,
      unpause: nothing,
      wait: () => Promise.resolve({ done: Promise.resolve({ StatusCode: 0 }) }),
      rename: nothing,
      remove: nothing,
      prune: () => Promise.resolve({ ContainersDeleted: null, SpaceReclaimed: 0 }),
      connectNetwork: nothing,
      disconnectNetwork: nothing,
      resize: nothing,
      logs: () => Promise.resolve({ tty: true, bytes: Readable.from([Buffer.from('hello\n')]) }),
      attach: () => Promise.resolve(conversation(true, echo)),
      statPath: () => Promise.resolve(PATH_STAT),
      getArchive: () => Promise.resolve({ stat: PATH_STAT, tar: Readable.from([Buffer.from('tar')]) }),
      putArchive: nothing,
      export: () => Promise.resolve(Readable.from([Buffer.from('tar')])),
      changes: () => Promise.resolve([{ Path: '/etc', Kind: 0 }]),
      commit: () => Promise.resolve({ Id: `sha256:${ID}` }),
    },
    execs: {
      create: () => Promise.resolve({ Id: ID }),
      start: (_id, { detach, tty }) => Promise.resolve(detach ? undefined : conversation(tty, echo)),
      resize: nothing,
      inspect: () => Promise.resolve(EXEC),
    },
    builds: {
      build: () => Readable.from([{ stream: 'Successfully built a1b2\n' }]),
      prune: () => Promise.resolve({ CachesDeleted: null, SpaceReclaimed: 0 }),
    },
    buildkit: {
      containers: {
        create: nothing,
        start: () => Promise.reject(new Error('no process starts here')),
        release: nothing,
        readFile: () => Promise.resolve(Buffer.alloc(0)),
        stat: () => Promise.reject(new Error('there are no files')),
        list: () => Promise.resolve([]),
      },
      worker: () => ({
        id: ID,
        platforms: [{ os: 'linux', architecture: 'amd64' }],
        version: '0.1.0',
        policy: [
          {
            isAll: true,
            filters: ['type==regular,type==internal'],
            unusedMs: 172_800_000,
            reservedBytes: 1,
            usedBytesMax: 2 ** 40,
            freeBytesMin: 3,
          },
        ],
      }),
      refuseSession: () => undefined,
      attachSession: ({ closed }) => closed,
      solve: () => Promise.resolve(new Map()),
      async *status() {
        yield await Promise.resolve({ vertexes: [], statuses: [], logs: [], warnings: [] });
      },
      history: {
        async *listen() {
          yield await Promise.resolve({ type: 'deleted', ref: 'one' });
        },
        pin: () => undefined,
        remove: () => undefined,
        blob: () => Promise.resolve(Buffer.from('text')),
        blobBytes: () => 4,
      },
      ping: nothing,
      solveFrontend: () => Promise.resolve({ ref: '', metadata: new Map() }),
      returnResult: nothing,
      warn: nothing,
      inputs: () => Promise.resolve(new Map()),
      resolveImage: () =>
        Promise.resolve({ reference: 'docker.io/library/debian:12', digest: '', config: Buffer.from('{}') }),
      resolveSource: () => Promise.resolve({ source: { identifier: 'local://x', attrs: new Map() } }),
      readResult: () => Promise.resolve(Buffer.from('text')),
      statResult: () => Promise.resolve(SENT_STAT),
      listResult: () => Promise.resolve([SENT_STAT]),
      usage: () => Promise.resolve([]),
      prune: () => Promise.resolve([]),
      build: () => ({
        updates: Readable.from([{ vertexes: [], statuses: [], logs: [], warnings: [] }]),
        image: Promise.resolve(`sha256:${ID}`),
      }),
      upload: nothing,
      cancel: () => undefined,
    },
    images: {
      list: () => Promise.resolve([IMAGE_SUMMARY]),
      inspect: () => Promise.resolve(IMAGE),
      legacy: () => Promise.resolve(LEGACY_IMAGE),
      attestations: () => Promise.resolve([]),
      history: () =>
        Promise.resolve([{ Id: ID, Created: 1, CreatedBy: 'sh', Tags: null, Size: 1, Comment: '' }]),
      tag: nothing,
      remove: () => Promise.resolve([{ Untagged: 'busybox:latest' }]),
      prune: () => Promise.resolve({ ImagesDeleted: null, SpaceReclaimed: 0 }),
      load: (tar) => countBytes(tar),
      save: () => Promise.resolve(Readable.from([Buffer.from('tar')])),
      import: (source) => (typeof source === 'string' ? statuses(source) : countBytes(source)),
      pull: ({ name }) => statuses(`Pulling ${name}`),
      push: (name) => statuses(`Pushing ${name}`),
    },
    networks: {
      list: () => Promise.resolve([NETWORK]),
      inspect: () => Promise.resolve(NETWORK),
      create: () => Promise.resolve({ Id: ID, Warning: '' }),
      remove: nothing,
      prune: () => Promise.resolve({ NetworksDeleted: ['blue'] }),
    },
    volumes: {
      list: () => Promise.resolve({ Volumes: [VOLUME], Warnings: null }),
      create: () => Promise.resolve(VOLUME),
      inspect: () => Promise.resolve(VOLUME),
      remove: nothing,
      prune: () => Promise.resolve({ VolumesDeleted: [], SpaceReclaimed: 0 }),
    },
    events: {
      async *stream() {
        yield await Promise.resolve(EVENT);
      },
    },
    registries: {
      login: () => Promise.resolve({ Status: 'Login Succeeded', IdentityToken: '' }),
      distribution: () =>
        Promise.resolve({ Descriptor: { mediaType: 'x', digest: ID, size: 1 }, Platforms: [] }),
      search: () => Promise.resolve([]),
    },
    system: {
      info: () => Promise.resolve(INFO),
      version: () => Promise.resolve(VERSION),
      diskUsage: () => Promise.resolve(DISK_USAGE),
    },
    swarm: noSwarm,
  };
  return {
    containers: { ...base.containers, ...overrides.containers },
    execs: { ...base.execs, ...overrides.execs },
    images: { ...base.images, ...overrides.images },
    builds: { ...base.builds, ...overrides.builds },
    buildkit: { ...base.buildkit, ...overrides.buildkit },
    networks: { ...base.networks, ...overrides.networks },
    volumes: { ...base.volumes, ...overrides.volumes },
    events: { ...base.events, ...overrides.events },
    system: { ...base.system, ...overrides.system },
    registries: { ...base.registries, ...overrides.registries },
    swarm: { ...base.swarm, ...overrides.swarm },
  };
}

/** Answers stdin with itself, then says `bye` once stdin has ended: proves half-close in both directions. */
export async function echo(socket: Duplex): Promise<void> {
  // Without the option the end of stdin would destroy the whole connection.
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    socket.write(chunk);
  }
  socket.end('bye');
}

async function* countBytes(tar: Readable): AsyncIterable<{ stream: string }> {
  let size = 0;
  for await (const chunk of tar) {
    // A byte stream's chunks are Buffers.
    size += (chunk as Buffer).length;
  }
  yield { stream: `read ${size} bytes` };
}

async function* statuses(...texts: string[]): AsyncIterable<{ status: string }> {
  for (const status of texts) {
    yield await Promise.resolve({ status });
  }
}
