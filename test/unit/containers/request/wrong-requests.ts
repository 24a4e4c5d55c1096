import type { ContainerCreateRequest } from '../../../../api/types/container.ts';
import type { HostConfig } from '../../../../api/types/host-config.ts';

const TOO_LONG = 'path of 70000 bytes is longer than 4095';

/** What clients send -> what they read. */
export const wrongConfigs: readonly [ContainerCreateRequest, string][] = [
  [{ Cmd: [], Entrypoint: [''] }, 'No command specified'],
  [{ Hostname: 'a b' }, 'invalid hostname format: a b'],
  [{ Hostname: 'evil\n127.0.0.1 bank' }, 'invalid hostname format: evil\n127.0.0.1 bank'],
  [{ Hostname: 'h'.repeat(65) }, `hostname "${'h'.repeat(65)}" is too long (maximum 64 bytes)`],
  [{ Domainname: '-x' }, 'invalid domainname format: -x'],
  [{ Env: ['=x'] }, "invalid environment variable: entry 0 has no name before its '='"],
  [{ Env: [''] }, "invalid environment variable: entry 0 has no name before its '='"],
  [{ Env: ['A=\0'] }, 'Env.0 cannot hold a NUL character'],
  [{ WorkingDir: 'here' }, "the working directory 'here' is invalid, it needs to be an absolute path"],
  [
    { WorkingDir: '/x/../proc/self/fd/8' },
    "the working directory '/x/../proc/self/fd/8' is invalid, it names an open file of a process",
  ],
  [{ StopSignal: 'SIGNOPE' }, 'Invalid signal: SIGNOPE'],
  [{ StopSignal: '65' }, 'Invalid signal: 65'],
  [{ MacAddress: '02:42' }, 'invalid MAC address: 02:42'],
  [{ ExposedPorts: { '70000/tcp': {} } }, 'invalid port specification: "70000/tcp"'],
  [{ ExposedPorts: { '80/icmp': {} } }, 'invalid port specification: "80/icmp"'],
  [
    { Volumes: { data: {} } },
    "invalid volume specification: 'data': invalid mount path: 'data' mount path must be absolute",
  ],
  [
    { Volumes: { '/..': {} } },
    "invalid volume specification: '/..': invalid specification: destination can't be '/'",
  ],
  [{ Healthcheck: { Test: ['CMD'] } }, 'Healthcheck.Test: CMD needs a command'],
  [
    { Healthcheck: { Test: ['TCP', '80'] } },
    "unknown type 'TCP' in Healthcheck.Test (expected 'NONE', 'CMD' or 'CMD-SHELL')",
  ],
  [{ Healthcheck: { StartInterval: -1 } }, 'StartInterval in Healthcheck cannot be less than 1ms'],
  [{ Healthcheck: { Retries: -1 } }, 'Retries in Healthcheck cannot be negative'],
  [{ Healthcheck: { Interval: 5 } }, 'Interval in Healthcheck cannot be less than 1ms'],
  [
    { NetworkingConfig: { EndpointsConfig: { red: { IPAMConfig: { IPv4Address: '10.0.0.256' } } } } },
    'invalid IPv4 address: 10.0.0.256',
  ],
  [
    { NetworkingConfig: { EndpointsConfig: { red: { Aliases: ['two words'] } } } },
    'invalid alias or link: "two words"',
  ],
  [
    { Hostname: 'x', HostConfig: { NetworkMode: 'container:neighbour' } },
    'conflicting options: hostname and the network mode',
  ],
  [
    { ExposedPorts: { '80/tcp': {} }, HostConfig: { NetworkMode: 'container:neighbour' } },
    'conflicting options: port exposing and the container type network mode',
  ],
  [{ Hostname: 'x', HostConfig: { UTSMode: 'host' } }, 'conflicting options: hostname and the UTS mode'],
];

/** The same for HostConfig. */
export const wrongHosts: readonly [HostConfig, string][] = [
  [{ Memory: 4096 }, 'Minimum memory limit allowed is 6MB'],
  [{ Memory: -1 }, 'Minimum memory limit allowed is 6MB'],
  [{ Memory: 2 ** 53 }, 'Memory must be a whole number between -2^53 and 2^53: 9007199254740992'],
  [
    { Memory: 8e6, MemorySwap: 7e6 },
    'Minimum memoryswap limit should be larger than memory limit, see usage',
  ],
  [{ MemorySwap: 8e6 }, 'You should always set the Memory limit when using Memoryswap limit, see usage'],
  [{ MemoryReservation: 1024 }, 'Minimum memory reservation allowed is 6MB'],
  [
    { Memory: 7e6, MemoryReservation: 8e6 },
    'Minimum memory limit can not be less than memory reservation limit, see usage',
  ],
  [{ MemorySwap: -2 }, 'MemorySwap cannot be negative, but for -1, which is unlimited: -2'],
  [{ MemorySwappiness: 101 }, 'Invalid value: 101, valid memory swappiness range is 0-100'],
  [{ CpuShares: -2 }, 'invalid CPU shares (-2): value must be a positive integer'],
  [{ CpuShares: 1 }, 'invalid CPU shares (1): range is from 2 to 262144'],
  [{ CpuShares: 262_145 }, 'invalid CPU shares (262145): range is from 2 to 262144'],
  [{ NanoCpus: 9_999_999 }, 'range of CPUs is from 0.01 to 4.00, as there are only 4 CPUs available'],
  [{ PidsLimit: 4_194_305 }, 'PidsLimit cannot be larger than 4194304: 4194305'],
  [{ NanoCpus: 1e9, CpuPeriod: 5000 }, 'Conflicting options: Nano CPUs and CPU Period cannot both be set'],
  [{ NanoCpus: 1e9, CpuQuota: 5000 }, 'Conflicting options: Nano CPUs and CPU Quota cannot both be set'],
  [{ NanoCpus: 5e9 }, 'range of CPUs is from 0.01 to 4.00, as there are only 4 CPUs available'],
  [{ CpuPeriod: 10 }, 'CPU cfs period can not be less than 1ms (i.e. 1000) or larger than 1s (i.e. 1000000)'],
  [{ CpuQuota: 10 }, 'CPU cfs quota can not be less than 1ms (i.e. 1000)'],
  [{ CpusetCpus: '1-x' }, 'Invalid value 1-x for cpuset cpus: invalid format: 1-x'],
  [{ CpusetCpus: '3-1' }, 'Invalid value 3-1 for cpuset cpus: invalid format: 3-1'],
  [
    { CpusetCpus: '0-2147483647' },
    'Requested CPUs are not available - requested 0-2147483647, available: 0-3',
  ],
  [{ CpusetMems: '1' }, 'Requested memory nodes are not available - requested 1, available: 0'],
  [
    { CpuRealtimePeriod: 10, CpuRealtimeRuntime: 20 },
    'cpu real-time runtime cannot be higher than cpu real-time period',
  ],
  [{ BlkioWeight: 5 }, 'Range of blkio weight is from 10 to 1000'],
  [
    { BlkioWeightDevice: [{ Path: '/dev/sda', Weight: 5 }] },
    'BlkioWeightDevice: range of weight is from 10 to 1000: 5',
  ],
  [{ BlkioDeviceReadBps: [{ Path: 'sda', Rate: 1 }] }, 'BlkioDeviceReadBps: bad device path: sda'],
  [
    { IOMaximumBandwidth: 1 },
    'invalid option: QoS maximum bandwidth configuration is not supported on linux',
  ],
  [{ IOMaximumIOps: 1 }, 'invalid option: QoS maximum IOPs configuration is not supported on linux'],
  [{ OomScoreAdj: 1001 }, 'Invalid value 1001, range for oom score adj is [-1000, 1000]'],
  [{ ShmSize: -1 }, 'SHM size can not be less than 0'],
  [{ IpcMode: 'shared' }, 'invalid IPC mode: shared'],
  [{ IpcMode: 'container' }, 'invalid IPC mode: container'],
  [{ IpcMode: 'container:' }, 'invalid IPC mode: invalid container format container:<name|id>'],
  [{ IpcMode: 'container:nobody' }, 'No such container: nobody'],
  [{ PidMode: 'container' }, 'invalid PID mode: container'],
  [{ PidMode: 'container:nobody' }, 'No such container: nobody'],
  [{ UTSMode: 'private' }, 'invalid UTS mode: private'],
  [{ UsernsMode: 'auto' }, 'invalid user namespace mode: auto'],
  [{ CgroupnsMode: 'shared' }, 'invalid cgroup namespace mode: shared'],
  [{ NetworkMode: 'container:' }, 'invalid network mode: invalid container format container:<name|id>'],
  [{ NetworkMode: 'container:neighbour', Dns: ['1.1.1.1'] }, 'conflicting options: dns and the network mode'],
  [{ Dns: ['one'] }, 'IP address is not correctly formatted: one'],
  [{ DnsSearch: ['a b'] }, 'a b is not a valid domain'],
  [{ DnsOptions: ['ndots:1\nnameserver 6.6.6.6'] }, 'invalid DNS option: "ndots:1\\nnameserver 6.6.6.6"'],
  [{ ExtraHosts: ['name'] }, 'bad format for add-host: "name"'],
  [{ ExtraHosts: ['name:1.2.3'] }, 'invalid IP address in add-host: "1.2.3"'],
  [{ PortBindings: { '0/tcp': null } }, 'invalid port specification: "0/tcp"'],
  [{ PortBindings: { '80/tcp': [{ HostPort: '9-8' }] } }, 'invalid port specification: "9-8"'],
  [{ PortBindings: { '80/tcp': [{ HostIp: 'x' }] } }, 'invalid host IP address in port binding: "x"'],
  [
    { RestartPolicy: { Name: 'sometimes' } },
    "invalid restart policy: unknown policy 'sometimes'; use one of 'no', 'always', 'on-failure', or 'unless-stopped'",
  ],
  [
    { RestartPolicy: { Name: 'always', MaximumRetryCount: 3 } },
    "invalid restart policy: maximum retry count can only be used with 'on-failure'",
  ],
  [
    { RestartPolicy: { Name: 'on-failure', MaximumRetryCount: -1 } },
    'invalid restart policy: maximum retry count cannot be negative',
  ],
  [
    { RestartPolicy: { Name: 'always' }, AutoRemove: true },
    "can't create 'AutoRemove' container with restart policy",
  ],
  [{ CapAdd: ['WINGS'] }, 'invalid CapAdd: unknown capability: "CAP_WINGS"'],
  [{ CapDrop: ['cap_wings'] }, 'invalid CapDrop: unknown capability: "CAP_WINGS"'],
  [{ SecurityOpt: ['magic'] }, 'invalid --security-opt: "magic"'],
  [{ SecurityOpt: ['no-new-privileges=maybe'] }, 'invalid --security-opt: "no-new-privileges=maybe"'],
  [{ SecurityOpt: ['label=type:x'] }, 'SecurityOpt is not supported yet: label=type:x'],
  [{ SecurityOpt: ['apparmor=mine'] }, 'SecurityOpt apparmor=mine: AppArmor is not enabled on this host'],
  [
    { SecurityOpt: ['seccomp={"defaultAction":"SCMP_ACT_NOTIFY"}'] },
    'Decoding seccomp profile failed: defaultAction: unknown action SCMP_ACT_NOTIFY',
  ],
  [{ Sysctls: { 'kernel.core_pattern': '|/x' } }, "sysctl 'kernel.core_pattern' is not allowed"],
  [
    { Sysctls: { 'net/../kernel/core_pattern': '|/x' } },
    "sysctl 'net/../kernel/core_pattern' is not allowed",
  ],
  [
    { Sysctls: { 'net.core.somaxconn': '1' }, NetworkMode: 'host' },
    "sysctl 'net.core.somaxconn' is not allowed in the host's network namespace",
  ],
  [{ Ulimits: [{ Name: 'as', Soft: 1, Hard: 1 }] }, 'invalid ulimit type: as'],
  [
    { Ulimits: [{ Name: 'nofile', Soft: 2, Hard: 1 }] },
    'ulimit soft limit must be less than or equal to hard limit: 2 > 1',
  ],
  [{ DeviceCgroupRules: ['c 1:3'] }, "invalid device cgroup rule format: 'c 1:3'"],
  [{ Devices: [{ PathOnHost: '/dev/null', CgroupPermissions: 'rr' }] }, 'invalid device mode: rr'],
  [{ Devices: [{ PathOnHost: 'null' }] }, 'invalid device: PathOnHost must be absolute: null'],
  [{ MaskedPaths: ['proc'] }, 'invalid MaskedPaths: path must be absolute: proc'],
  [
    { Annotations: { '': 'x' } },
    'invalid Annotations: the empty string is not permitted as an annotation key',
  ],
  [{ ConsoleSize: [-1, 80] }, 'invalid ConsoleSize: -1x80'],
  [{ Isolation: 'hyperv' }, "invalid isolation (hyperv): linux only supports 'default'"],
  [{ Runtime: 'kata' }, 'unknown or invalid runtime name: kata'],
  [{ LogConfig: { Type: 'nope' } }, "logger: no log driver named 'nope' is registered"],
  [{ VolumesFrom: ['nobody'] }, 'No such container: nobody (VolumesFrom nobody)'],
  [{ VolumesFrom: [''] }, 'volumes-from specification cannot be an empty string'],
  [{ VolumesFrom: ['neighbour:rx'] }, 'invalid VolumesFrom: invalid mode: rx'],
  [{ VolumesFrom: ['neighbour:nocopy'] }, 'invalid VolumesFrom: invalid mode: nocopy'],
  [{ VolumesFrom: ['neighbour:ro:rw'] }, 'invalid VolumesFrom: invalid mode: ro:rw'],
  [{ VolumesFrom: [':ro'] }, 'invalid VolumesFrom: no container is named: :ro'],
  [{ LogConfig: { Config: { nope: 'x' } } }, "unknown log opt 'nope' for json-file log driver"],
  [
    { LogConfig: { Config: { tag: '{{.Nope}}' } } },
    'template: log-tag: "{{.Nope}}": cannot evaluate ".Nope"',
  ],
  [{ Links: ['nobody:x'] }, 'could not get container for nobody: No such container: nobody'],
  [{ Links: [''] }, 'invalid Links: empty string specified for links'],
  [{ Links: ['a:b:c'] }, 'invalid Links: bad format for links: a:b:c'],
  [{ Links: ['neighbour:/'] }, 'invalid Links: bad format for links: neighbour:/'],
  [{ Links: ['neighbour:'] }, 'invalid Links: bad format for links: neighbour:'],
  [
    { Links: ['neighbour:x\n1.2.3.4 bank'] },
    'invalid Links: bad format for links: neighbour:x\n1.2.3.4 bank',
  ],
  [
    { Links: ['neighbour:x'], NetworkMode: 'host' },
    "conflicting options: host type networking can't be used with links. This would result in undefined behavior",
  ],
  [
    { DeviceRequests: [{ Driver: 'x', Count: -1, Capabilities: [['gpu', 'nvidia'], ['tpu']] }] },
    'DeviceRequests: could not select device driver "x" with capabilities: [[gpu nvidia] [tpu]]',
  ],
  [
    { DeviceRequests: [{ Driver: 'cdi', DeviceIDs: ['gpu=0'] }] },
    'DeviceRequests: DeviceIDs: "gpu=0" is not vendor.com/class=name',
  ],
  [
    { DeviceRequests: [{ Driver: 'cdi', Count: 2, DeviceIDs: ['vendor.com/gpu=0'] }] },
    'DeviceRequests: Count: devices of driver "cdi" are asked for by DeviceIDs: 2',
  ],
  [
    { DeviceRequests: [{ Driver: 'cdi', DeviceIDs: ['vendor.com/gpu=0'], Capabilities: [['gpu']] }] },
    'DeviceRequests: Capabilities: devices of driver "cdi" are asked for by DeviceIDs',
  ],
  [
    { DeviceRequests: [{ Count: -1, Capabilities: [['gpu']], Options: { a: 'b' } }] },
    'DeviceRequests: Options: no device here takes options',
  ],
  [
    { DeviceRequests: [{ Driver: 'amd', Count: -1, Capabilities: [['gpu']] }] },
    'DeviceRequests: could not select device driver "amd" with capabilities: [[gpu]]',
  ],
  [
    { DeviceRequests: [{ Count: -2, Capabilities: [['gpu']] }] },
    'DeviceRequests: Count: -2 is neither a number of devices nor -1 for all',
  ],
  [
    { DeviceRequests: [{ Count: 1, DeviceIDs: ['0'], Capabilities: [['gpu']] }] },
    'DeviceRequests: cannot set both Count and DeviceIDs: 1',
  ],
  [{ StorageOpt: { size: 'much' } }, "StorageOpt size=much: invalid size: 'much'"],
  [{ StorageOpt: { colour: 'red' } }, 'StorageOpt: Unknown option colour'],
  [{ Cgroup: 'container:x' }, 'Cgroup is not supported yet: container:x'],
  [{ CgroupParent: `/a\n/b` }, 'invalid CgroupParent: /a\n/b: not a path of cgroups'],
  [{ Cgroup: 'container:neighbour' }, 'Cgroup is not supported yet: container:neighbour'],
  [{ Binds: [':/x'] }, "invalid volume specification: ':/x'"],
  [{ Binds: ['/a:/b:ro:z'] }, "invalid volume specification: '/a:/b:ro:z'"],
  [{ Binds: ['/a:ro'] }, "invalid volume specification: '/a:ro'"],
  [{ Binds: ['/a:/b:fast'] }, 'invalid mode: fast'],
  [{ Binds: ['/a:/b:ro,rw'] }, 'invalid mode: ro,rw'],
  [
    { Binds: ['/a:b'] },
    `invalid volume specification: '/a:b': ` +
      `invalid mount config for type "bind": invalid mount path: 'b' mount path must be absolute`,
  ],
  [
    { Binds: ['/a:/'] },
    `invalid volume specification: '/a:/': ` +
      `invalid mount config for type "bind": invalid specification: destination can't be '/'`,
  ],
  [
    { Binds: ['/a:/proc/sys'] },
    `invalid volume specification: '/a:/proc/sys': ` +
      `invalid mount config for type "bind": invalid mount path: '/proc/sys' is inside /proc`,
  ],
  [
    { Binds: ['/a:/b:nocopy'] },
    `invalid volume specification: '/a:/b:nocopy': ` +
      `invalid mount config for type "bind": field VolumeOptions must not be specified`,
  ],
  [
    { Binds: ['./a:/b'] },
    'create ./a: "./a" includes invalid characters for a local volume name, only "[a-zA-Z0-9][a-zA-Z0-9_.-]" are ' +
      'allowed. If you intended to pass a host directory, use absolute path',
  ],
  [
    { Binds: ['a:/b'] },
    'create a: volume name is too short, names should be at least two alphanumeric characters',
  ],
  [{ Binds: ['/a:/x', '/b:/x/'] }, 'Duplicate mount point: /x'],
  [{ Binds: ['/a:/x'], Tmpfs: { '/x': '' } }, 'Duplicate mount point: /x'],
  [{ Binds: ['/a:/x'], Mounts: [{ Type: 'tmpfs', Target: '/x' }] }, 'Duplicate mount point: /x'],
  [{ Tmpfs: { '/x': 'size=1m,colour=red' } }, 'invalid tmpfs option "colour"'],
  [{ Tmpfs: { '/x': 'size=much' } }, 'invalid tmpfs option "size=much"'],
  [{ Tmpfs: { '/x': 'mode=99999' } }, 'invalid tmpfs option "mode=99999"'],
  [{ Tmpfs: { '/x': 'uid=root' } }, 'invalid tmpfs option "uid=root"'],
  [{ Tmpfs: { '/x': 'nr_inodes=-1' } }, 'invalid tmpfs option "nr_inodes=-1"'],
  [{ Tmpfs: { '/x': 'mpol=' } }, 'invalid tmpfs option "mpol="'],
  [{ Tmpfs: { x: '' } }, "invalid mount path: 'x' mount path must be absolute"],
  [{ Mounts: [{ Target: '/x' }] }, 'invalid mount config for type "": mount type unknown'],
  [
    { Mounts: [{ Type: 'bind', Source: '/a' }] },
    'invalid mount config for type "bind": field Target must not be empty',
  ],
  [
    { Mounts: [{ Type: 'bind', Target: '/x' }] },
    'invalid mount config for type "bind": field Source must not be empty',
  ],
  [
    { Mounts: [{ Type: 'bind', Source: '/missing', Target: '/x' }] },
    'invalid mount config for type "bind": bind source path does not exist: /missing',
  ],
  [
    { Mounts: [{ Type: 'bind', Source: '/a', Target: '/x', VolumeOptions: {} }] },
    'invalid mount config for type "bind": field VolumeOptions must not be specified',
  ],
  [
    { Mounts: [{ Type: 'bind', Source: '/a', Target: '/x', BindOptions: { Propagation: 'up' } }] },
    'invalid mount config for type "bind": invalid propagation mode: up',
  ],
  [
    { Mounts: [{ Type: 'tmpfs', Source: '/a', Target: '/x' }] },
    'invalid mount config for type "tmpfs": field Source must not be specified',
  ],
  [
    { Mounts: [{ Type: 'volume', Target: '/x', ReadOnly: true }] },
    'invalid mount config for type "volume": must not set ReadOnly mode when using anonymous volumes',
  ],
  [
    { Mounts: [{ Type: 'bind', Source: '/a', Target: '/x', Consistency: 'total' }] },
    'invalid mount config for type "bind": invalid Consistency: total',
  ],
  [
    { Mounts: [{ Type: 'image', Source: 'a', Target: '/x' }] },
    'invalid mount config for type "image": No such image: a',
  ],
  [
    { Mounts: [{ Type: 'image', Target: '/x' }] },
    'invalid mount config for type "image": field Source must not be empty',
  ],
  [
    { Mounts: [{ Type: 'image', Source: 'tools', Target: '/x', ImageOptions: { Subpath: '../x' } }] },
    'invalid mount config for type "image": subpath must be a relative path within the image',
  ],
  [
    { Mounts: [{ Type: 'volume', Source: 'v', Target: '/x', ImageOptions: {} }] },
    'invalid mount config for type "volume": field ImageOptions must not be specified',
  ],
  [{ Mounts: [{ Type: 'cluster', Target: '/x' }] }, 'Mounts.Type is not supported yet: cluster'],
  [
    { Mounts: [{ Type: 'volume', Source: 'ab', Target: '/x', VolumeOptions: { Subpath: 'y/../..' } }] },
    'invalid mount config for type "volume": subpath must be a relative path within the volume',
  ],
  [
    {
      Mounts: [
        { Type: 'volume', Source: 'ab', Target: '/x', VolumeOptions: { Subpath: 'y'.repeat(70_000) } },
      ],
    },
    `invalid mount config for type "volume": Subpath: ${TOO_LONG}: '${'y'.repeat(200)}...'`,
  ],
  [
    { Mounts: [{ Type: 'bind', Source: `/${'y'.repeat(69_999)}`, Target: '/x' }] },
    `invalid mount config for type "bind": Source: ${TOO_LONG}: '/${'y'.repeat(199)}...'`,
  ],
  [{ Tmpfs: { [`/${'y'.repeat(69_999)}`]: '' } }, `${TOO_LONG}: '/${'y'.repeat(199)}...'`],
];
