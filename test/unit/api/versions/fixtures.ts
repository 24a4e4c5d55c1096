/** Pairs for each part of each version change, by its id: what clients before it send or get, and 1.44. */
import {
  CONTAINER,
  CONTAINER_SUMMARY,
  DISK_USAGE,
  EXEC,
  IMAGE,
  IMAGE_SUMMARY,
  INFO,
  NETWORK,
  VERSION,
  VOLUME,
} from '../../../support/api/fake-ports.ts';
import { STATS } from '../../../support/api/fake-stats.ts';

export type Fixture =
  /** A request: `older` as sent, `newest` as the engine gets it; `refused` in its place where it is an error. */
  | {
      kind: 'request';
      older: { query?: string; body?: unknown };
      newest: { query?: string; body?: unknown } | { refused: string };
      cgroupVersion?: 1 | 2;
    }
  /** An answer of the newest shape, and the parts of it that the older shape has otherwise (undefined = not there). */
  | { kind: 'response'; newest: unknown; legacy?: unknown; older: unknown }
  | { kind: 'item'; newest: unknown; older: unknown };

const ENDPOINT = { NetworkID: 'n', DNSNames: ['a'] };
const bind = (options: object): object => ({
  HostConfig: { Mounts: [{ Type: 'bind', BindOptions: options }] },
});

export const FIXTURES: Readonly<Record<string, readonly Fixture[]>> = {
  'stats-online-cpus': [
    {
      kind: 'response',
      newest: STATS,
      older: { cpu_stats: { online_cpus: undefined }, precpu_stats: { online_cpus: undefined } },
    },
    {
      kind: 'item',
      newest: { cpu_stats: { online_cpus: 2, system_cpu_usage: 1 } },
      older: { cpu_stats: { system_cpu_usage: 1 } },
    },
  ],
  'stats-one-shot': [
    {
      kind: 'request',
      older: { query: 'stream=0&one-shot=1' },
      newest: { query: 'stream=0' },
    },
  ],
  'container-update-pids-limit': [
    {
      kind: 'request',
      older: { body: { PidsLimit: 5, Memory: 1 } },
      newest: { body: { Memory: 1 } },
    },
  ],
  'container-shapes-1.24': [
    {
      kind: 'response',
      newest: { ...CONTAINER, State: { ...CONTAINER.State, Status: 'removing' } },
      older: {
        Platform: undefined,
        State: { Status: 'exited', Pid: 42 },
        Config: { StopTimeout: undefined, Env: ['A=b'], Domainname: '', OnBuild: null },
        HostConfig: { AutoRemove: undefined, Init: undefined, Memory: 1024, MemorySwappiness: -1 },
        Mounts: [{ Type: undefined, Source: '/a', Name: '', Driver: '' }],
        NetworkSettings: {
          Networks: { bridge: { DNSNames: undefined, IPAddress: '172.17.0.2', Gateway: '' } },
        },
      },
    },
  ],
  'container-summary-1.24': [
    {
      kind: 'response',
      newest: [{ ...CONTAINER_SUMMARY, State: 'removing' }],
      older: [{ State: 'exited', Mounts: [{ Type: undefined, Destination: '/b' }], SizeRw: 1 }],
    },
  ],
  'container-create-1.24': [
    {
      kind: 'request',
      older: {
        body: { StopTimeout: 1, HostConfig: { AutoRemove: true, Init: true, Mounts: [], NanoCpus: 5 } },
      },
      newest: { body: { StopTimeout: 1, HostConfig: { Init: true, Mounts: [], NanoCpus: 5 } } },
    },
  ],
  'exec-pid': [
    {
      kind: 'response',
      newest: EXEC,
      older: { Pid: undefined, ExitCode: 0, Running: true, ProcessConfig: { user: '', entrypoint: 'sh' } },
    },
  ],
  'image-summary-1.24': [
    {
      kind: 'response',
      newest: [IMAGE_SUMMARY],
      older: [{ SharedSize: undefined, Containers: undefined, Labels: {}, VirtualSize: 0 }],
    },
  ],
  'image-shapes-1.24': [
    {
      kind: 'response',
      newest: IMAGE,
      older: {
        Metadata: undefined,
        Config: { PublishService: '', Cmd: ['sh'] },
        ContainerConfig: { PublishService: '', Cmd: [] },
      },
    },
  ],
  'network-attachable': [
    {
      kind: 'response',
      newest: [NETWORK],
      older: [{ Created: undefined, Attachable: undefined, Name: 'bridge' }],
    },
    {
      kind: 'response',
      newest: NETWORK,
      older: { Created: undefined, Attachable: undefined, Name: 'bridge' },
    },
  ],
  'volume-options': [
    { kind: 'response', newest: VOLUME, older: { Options: undefined, Name: 'data', Labels: {} } },
    {
      kind: 'response',
      newest: { Volumes: [VOLUME], Warnings: null },
      older: { Volumes: [{ Options: undefined, Name: 'data' }], Warnings: [] },
    },
  ],
  'version-minimum': [
    {
      kind: 'response',
      newest: VERSION,
      older: { MinAPIVersion: undefined, Experimental: false, Os: 'linux' },
    },
  ],
  'info-1.24': [
    {
      kind: 'response',
      newest: INFO,
      older: {
        InitBinary: undefined,
        InitPath: 'docker-init',
        InitSha1: '',
        ExecutionDriver: '<not supported>',
        SecurityOptions: ['seccomp'],
        SystemStatus: [],
        ClusterStore: '',
        Plugins: { Log: undefined, Volume: ['local'] },
      },
    },
  ],
  'network-list-without-containers': [
    {
      kind: 'response',
      newest: [{ ...NETWORK, Containers: {} }],
      legacy: { [NETWORK.Id]: NETWORK.Containers },
      older: [{ Containers: NETWORK.Containers }],
    },
  ],
  'network-ingress': [
    { kind: 'response', newest: [NETWORK], older: [{ Ingress: undefined, Driver: 'bridge' }] },
    { kind: 'response', newest: NETWORK, older: { Ingress: undefined, Driver: 'bridge' } },
  ],
  'wait-condition': [{ kind: 'request', older: { query: 'condition=removed' }, newest: { query: '' } }],
  'event-scope': [{ kind: 'item', newest: { Action: 'die', scope: 'local' }, older: { Action: 'die' } }],
  'network-config-from': [
    {
      kind: 'response',
      newest: NETWORK,
      older: { ConfigFrom: undefined, ConfigOnly: undefined, Scope: 'local' },
    },
    { kind: 'response', newest: [NETWORK], older: [{ ConfigFrom: undefined, ConfigOnly: undefined }] },
  ],
  'network-verbose': [
    { kind: 'request', older: { query: 'verbose=1&scope=local' }, newest: { query: 'scope=local' } },
  ],
  'network-scope': [
    { kind: 'request', older: { query: 'verbose=1&scope=local' }, newest: { query: 'verbose=1' } },
  ],
  'image-last-tag-time': [{ kind: 'response', newest: IMAGE, older: { Metadata: undefined, Os: 'linux' } }],
  'volume-created-at': [
    { kind: 'response', newest: VOLUME, older: { CreatedAt: undefined, Name: 'data' } },
    { kind: 'response', newest: { Volumes: [VOLUME] }, older: { Volumes: [{ CreatedAt: undefined }] } },
  ],
  'image-create-platform': [
    { kind: 'request', older: { query: 'fromSrc=-&platform=linux' }, newest: { query: 'fromSrc=-' } },
  ],
  'container-platform': [
    { kind: 'response', newest: CONTAINER, older: { Platform: undefined, Name: '/web' } },
  ],
  'version-components': [
    {
      kind: 'response',
      newest: VERSION,
      older: { Platform: undefined, Components: undefined, Arch: 'amd64' },
    },
  ],
  'wait-error': [
    {
      kind: 'response',
      newest: { StatusCode: 1, Error: { Message: 'm' } },
      older: { StatusCode: 1, Error: undefined },
    },
  ],
  'event-exec-die': [
    { kind: 'item', newest: { Action: 'exec_die' }, older: undefined },
    { kind: 'item', newest: { Action: 'die' }, older: { Action: 'die' } },
  ],
  'info-warnings': [
    {
      kind: 'response',
      newest: { ...INFO, ProductLicense: 'l' },
      older: { Warnings: undefined, ProductLicense: undefined, DefaultAddressPools: undefined, NCPU: 2 },
    },
  ],
  'ipc-mode-private': [
    {
      kind: 'request',
      older: { body: { HostConfig: {} } },
      newest: { body: { HostConfig: { IpcMode: 'shareable' } } },
    },
    {
      kind: 'request',
      older: { body: { HostConfig: { IpcMode: 'private' } } },
      newest: { body: { HostConfig: { IpcMode: 'private' } } },
    },
  ],
  'container-create-1.40': [
    {
      kind: 'request',
      older: {
        body: {
          HostConfig: {
            KernelMemoryTCP: 1,
            Mounts: [{ BindOptions: { NonRecursive: true, Propagation: 'rshared' } }],
          },
        },
      },
      newest: { body: { HostConfig: { Mounts: [{ BindOptions: { Propagation: 'rshared' } }] } } },
    },
  ],
  'cgroupns-mode': [
    {
      kind: 'request',
      older: { query: 'name=a&platform=linux', body: { HostConfig: {} } },
      newest: { query: 'name=a', body: { HostConfig: { CgroupnsMode: 'host' } } },
    },
    {
      kind: 'request',
      cgroupVersion: 2,
      older: { body: { HostConfig: {} } },
      newest: { body: { HostConfig: {} } },
    },
  ],
  'image-filter-parameter': [
    {
      kind: 'request',
      older: { query: `filter=busy*&filters=${encodeURIComponent('{"label":["a"]}')}` },
      newest: { query: `filters=${encodeURIComponent('{"label":["a"],"reference":["busy*"]}')}` },
    },
    { kind: 'request', older: { query: 'filter=' }, newest: { query: '' } },
  ],
  'volume-prune-all': [
    {
      kind: 'request',
      older: { query: '' },
      newest: { query: `filters=${encodeURIComponent('{"all":["true"]}')}` },
    },
  ],
  'info-cgroup-version': [
    { kind: 'response', newest: INFO, older: { CgroupVersion: undefined, CgroupDriver: 'cgroupfs' } },
  ],
  'event-prune': [{ kind: 'item', newest: { Action: 'prune' }, older: undefined }],
  'stop-signal-parameter': [
    { kind: 'request', older: { query: 't=1&signal=INT' }, newest: { query: 't=1' } },
  ],
  'exec-console-size': [
    { kind: 'request', older: { body: { Tty: true, ConsoleSize: [1, 2] } }, newest: { body: { Tty: true } } },
  ],
  'container-create-1.42': [
    {
      kind: 'request',
      older: {
        body: {
          HostConfig: {
            ConsoleSize: [1, 2],
            Mounts: [
              { Type: 'bind', BindOptions: { CreateMountpoint: true }, TmpfsOptions: {} },
              { Type: 'tmpfs', BindOptions: {}, TmpfsOptions: {} },
            ],
          },
        },
      },
      newest: {
        body: {
          HostConfig: {
            Mounts: [
              { Type: 'bind', BindOptions: {} },
              { Type: 'tmpfs', BindOptions: {}, TmpfsOptions: {} },
            ],
          },
        },
      },
    },
  ],
  'image-shared-size': [{ kind: 'request', older: { query: 'shared-size=1' }, newest: { query: '' } }],
  'info-kernel-memory': [
    { kind: 'response', newest: INFO, older: { KernelMemory: false, KernelMemoryTCP: false } },
  ],
  'container-annotations': [
    {
      kind: 'request',
      older: { body: { HostConfig: { Annotations: { a: 'b' } } } },
      newest: { body: { HostConfig: {} } },
    },
  ],
  'image-untagged': [
    {
      kind: 'response',
      newest: [IMAGE_SUMMARY, { ...IMAGE_SUMMARY, RepoTags: ['a:b'] }],
      older: [{ RepoTags: ['<none>:<none>'], RepoDigests: ['<none>@<none>'] }, { RepoTags: ['a:b'] }],
    },
  ],
  'health-start-interval': [
    {
      kind: 'request',
      older: { body: { Healthcheck: { StartInterval: 1, Retries: 2 } } },
      newest: { body: { Healthcheck: { Retries: 2 } } },
    },
  ],
  'bind-read-only-recursive': [
    {
      kind: 'request',
      older: { body: bind({ Propagation: 'rslave' }) },
      newest: { body: bind({ Propagation: 'rslave', ReadOnlyNonRecursive: true }) },
    },
    {
      kind: 'request',
      older: { body: bind({ ReadOnlyForceRecursive: true }) },
      newest: { refused: 'BindOptions.ReadOnlyForceRecursive needs API version 1.44 or newer' },
    },
  ],
  'several-endpoints': [
    {
      kind: 'request',
      older: { body: { NetworkingConfig: { EndpointsConfig: { a: { MacAddress: 'm' } } } } },
      newest: { body: { NetworkingConfig: { EndpointsConfig: { a: {} } } } },
    },
    {
      kind: 'request',
      older: { body: { NetworkingConfig: { EndpointsConfig: { a: {}, b: null } } } },
      newest: { refused: 'Container cannot be connected to network endpoints: a, b' },
    },
  ],
  'endpoint-dns-names': [
    {
      kind: 'response',
      newest: { NetworkSettings: { Bridge: '', Networks: { a: ENDPOINT } } },
      older: { NetworkSettings: { Bridge: '', Networks: { a: { NetworkID: 'n', DNSNames: undefined } } } },
    },
  ],
  'endpoint-dns-names-in-list': [
    {
      kind: 'response',
      newest: [{ NetworkSettings: { Networks: { a: ENDPOINT } } }],
      older: [{ NetworkSettings: { Networks: { a: { NetworkID: 'n', DNSNames: undefined } } } }],
    },
  ],
  'endpoint-dns-names-in-disk-usage': [
    {
      kind: 'response',
      newest: { ...DISK_USAGE, Containers: [{ NetworkSettings: { Networks: { a: ENDPOINT } } }] },
      older: {
        Containers: [{ NetworkSettings: { Networks: { a: { NetworkID: 'n', DNSNames: undefined } } } }],
      },
    },
    { kind: 'response', newest: { ...DISK_USAGE, Containers: null }, older: { Containers: null } },
  ],
  'inspect-kernel-memory': [
    {
      kind: 'response',
      newest: { HostConfig: { Memory: 1 } },
      older: { HostConfig: { Memory: 1, KernelMemory: 0, KernelMemoryTCP: 0 } },
    },
  ],
  'disk-usage-types': [
    { kind: 'request', older: { query: 'type=image' }, newest: { query: '' } },
    { kind: 'response', newest: DISK_USAGE, older: { BuilderSize: 0 } },
  ],
  'container-mac-address-deprecated': [
    {
      kind: 'response',
      newest: { Id: 'c', Warnings: ['a', 'The container-wide MacAddress field is now deprecated. x'] },
      older: { Id: 'c', Warnings: ['a'] },
    },
  ],
  'cluster-volumes': [
    {
      kind: 'request',
      older: { body: { Name: 'a', ClusterVolumeSpec: {} } },
      newest: { body: { Name: 'a' } },
    },
  ],
  'image-created': [
    {
      kind: 'response',
      newest: { Id: 'i' },
      older: { Id: 'i', Created: '0001-01-01T00:00:00Z' },
    },
    { kind: 'response', newest: IMAGE, older: { Created: IMAGE.Created } },
  ],
  'disk-usage-virtual-size': [
    { kind: 'response', newest: DISK_USAGE, older: { Images: [{ ...IMAGE_SUMMARY, VirtualSize: 1000 }] } },
    { kind: 'response', newest: { ...DISK_USAGE, Images: null }, older: { Images: null } },
  ],
  'image-virtual-size': [
    { kind: 'response', newest: [IMAGE_SUMMARY], older: [{ VirtualSize: 1000, Size: 1000 }] },
    { kind: 'response', newest: IMAGE, older: { VirtualSize: 1000 } },
  ],
  'info-cdi': [{ kind: 'response', newest: INFO, older: { CDISpecDirs: undefined } }],
};
