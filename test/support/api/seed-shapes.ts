/**
 * The field tables of the API 1.24 document as data, and the comparison with a real answer. The same tables judge the
 * pipeline over fake ports (test/api) and a running daemon (test/system).
 */

/**
 * `string`, `int`, `bool`, `null`, arrays as `string[]`, alternatives as `string[]|null`; an object of fields; an array
 * with the shape of its elements; `map(shape)`. A field that ends in `?` may be absent. `'+'` lists fields that engines
 * of that time sent although the document does not show them; any other field is one too many.
 */
export type Shape =
  | string
  | readonly [Shape]
  | MapShape
  | { readonly [field: string]: Shape | readonly string[] };

interface MapShape {
  readonly mapOf: Shape;
  readonly orNull: boolean;
}

export const map = (mapOf: Shape): MapShape => ({ mapOf, orNull: false });
const mapOrNull = (mapOf: Shape): MapShape => ({ mapOf, orNull: true });

function isMapShape(shape: Shape): shape is MapShape {
  return typeof shape === 'object' && 'mapOf' in shape;
}

/** Field names that share a type: `all('string', 'Id Name')`. */
export function all(type: Shape, names: string): Record<string, Shape> {
  return Object.fromEntries(names.split(' ').map((name) => [name, type]));
}

const NONE = {};
const LIST = 'string[]|null';

const endpoint = {
  ...all('string', 'NetworkID EndpointID Gateway IPAddress IPv6Gateway GlobalIPv6Address MacAddress'),
  ...all('int', 'IPPrefixLen GlobalIPv6PrefixLen'),
  ...all('any|null', 'IPAMConfig? Links? Aliases?'),
};

const mount = { ...all('string', 'Name Source Destination Driver Mode Propagation'), RW: 'bool' };

const config = {
  ...all('bool', 'AttachStderr AttachStdin AttachStdout Tty OpenStdin StdinOnce NetworkDisabled'),
  ...all('string', 'Domainname Hostname Image MacAddress User WorkingDir StopSignal'),
  Cmd: LIST,
  Entrypoint: LIST,
  Env: LIST,
  ExposedPorts: mapOrNull(NONE),
  Labels: map('string'),
  OnBuild: LIST,
  Volumes: mapOrNull(NONE),
  '+': ['Healthcheck'],
};

const throttle = '[]|null';

const hostConfig = {
  ...all(
    LIST,
    'Binds Links Dns DnsOptions DnsSearch ExtraHosts VolumesFrom CapAdd CapDrop GroupAdd SecurityOpt',
  ),
  ...all('int', 'Memory MemorySwap MemoryReservation KernelMemory CpuPercent CpuShares CpuPeriod CpuQuota'),
  ...all(
    'int',
    'IOMaximumBandwidth IOMaximumIOps BlkioWeight MemorySwappiness OomScoreAdj PidsLimit ShmSize',
  ),
  ...all('bool', 'OomKillDisable PublishAllPorts Privileged ReadonlyRootfs'),
  ...all('string', 'CpusetCpus CpusetMems PidMode UsernsMode NetworkMode CgroupParent VolumeDriver'),
  ...all('string', 'ContainerIDFile IpcMode'),
  ...all(throttle, 'BlkioWeightDevice BlkioDeviceReadBps BlkioDeviceWriteBps BlkioDeviceReadIOps'),
  ...all(throttle, 'BlkioDeviceWriteIOps Devices Ulimits'),
  ...all(map('string'), 'Tmpfs Sysctls StorageOpt'),
  PortBindings: mapOrNull('[]|null'),
  RestartPolicy: { Name: 'string', MaximumRetryCount: 'int' },
  LogConfig: { Type: 'string', Config: mapOrNull('string') },
  '+': ['Cgroup', 'ConsoleSize', 'CpuCount', 'Isolation', 'Runtime', 'UTSMode'],
};

const networkSettings = {
  ...all('string', 'Bridge SandboxID LinkLocalIPv6Address SandboxKey EndpointID Gateway GlobalIPv6Address'),
  ...all('string', 'IPAddress IPv6Gateway MacAddress'),
  HairpinMode: 'bool',
  ...all('int', 'LinkLocalIPv6PrefixLen GlobalIPv6PrefixLen IPPrefixLen'),
  Ports: mapOrNull('[]|null'),
  ...all('any|null', 'SecondaryIPAddresses SecondaryIPv6Addresses'),
  Networks: map(endpoint),
};

const container = {
  ...all('string', 'AppArmorProfile Created Driver HostnamePath HostsPath LogPath Id Image MountLabel Name'),
  ...all('string', 'Path ProcessLabel ResolvConfPath'),
  Args: 'string[]',
  Config: config,
  ExecIDs: LIST,
  HostConfig: hostConfig,
  NetworkSettings: networkSettings,
  RestartCount: 'int',
  State: {
    ...all('string', 'Error FinishedAt StartedAt Status'),
    ...all('int', 'ExitCode Pid'),
    ...all('bool', 'OOMKilled Dead Paused Restarting Running'),
    '+': ['Health'],
  },
  Mounts: [mount],
  '+': ['GraphDriver'],
} as const satisfies Shape;

const imageConfig = { ...config, PublishService: 'string' };

const volume = {
  ...all('string', 'Name Driver Mountpoint Scope'),
  'Status?': map('string'),
  Labels: mapOrNull('string'),
};

const network = {
  ...all('string', 'Name Id Scope Driver'),
  ...all('bool', 'EnableIPv6 Internal'),
  IPAM: { Driver: 'string', Config: '[]', '+': ['Options'] },
  Containers: map({ ...all('string', 'EndpointID MacAddress IPv4Address IPv6Address'), '+': ['Name'] }),
  Options: map('string'),
  '+': ['Labels'],
};

const info = {
  ...all(
    'string',
    'Architecture ClusterStore CgroupDriver DockerRootDir Driver ID IndexServerAddress InitPath',
  ),
  ...all('string', 'InitSha1 KernelVersion Name NoProxy HttpProxy HttpsProxy OSType OperatingSystem'),
  ...all('string', 'ServerVersion SystemTime'),
  ...all('int', 'Containers ContainersRunning ContainersStopped ContainersPaused Images MemTotal NCPU'),
  ...all('int', 'NEventsListener NFd NGoroutines'),
  ...all('bool', 'CpuCfsPeriod CpuCfsQuota Debug ExperimentalBuild IPv4Forwarding KernelMemory MemoryLimit'),
  ...all('bool', 'OomKillDisable SwapLimit'),
  ...all('string[][]', 'DriverStatus SystemStatus'),
  ...all('string[]', 'Labels SecurityOptions'),
  Plugins: { Volume: 'string[]', Network: 'string[]', '+': ['Authorization'] },
  RegistryConfig: {
    IndexConfigs: map({ Mirrors: LIST, Name: 'string', Official: 'bool', Secure: 'bool' }),
    InsecureRegistryCIDRs: 'string[]',
  },
  '+': (
    'BridgeNfIp6tables BridgeNfIptables CPUSet CPUShares ClusterAdvertise DefaultRuntime ExecutionDriver ' +
    'LiveRestoreEnabled LoggingDriver Runtimes Swarm'
  ).split(' '),
};

/** Names of things that exist where the answers come from. `image` has no slash. */
export interface SeedNames {
  container: string;
  exec: string;
  image: string;
  volume: string;
  network: string;
}

/** One table of the document: a request and the shape of its answer. Requests are safe to repeat. */
export interface SeedAnswer {
  table: string;
  method: 'GET' | 'POST';
  path(names: SeedNames): string;
  body?: unknown;
  status: number;
  shape: Shape;
}

export const SEED_ANSWERS: readonly SeedAnswer[] = [
  {
    table: 'Container summary',
    method: 'GET',
    path: () => '/v1.24/containers/json?all=1&size=1',
    status: 200,
    shape: [
      {
        ...all('string', 'Id Image ImageID Command State Status'),
        Names: 'string[]',
        Created: 'int',
        Ports: [{ PrivatePort: 'int', 'PublicPort?': 'int', Type: 'string', '+': ['IP'] }],
        Labels: map('string'),
        SizeRw: 'int',
        SizeRootFs: 'int',
        HostConfig: { NetworkMode: 'string' },
        NetworkSettings: { Networks: map(endpoint) },
        Mounts: [mount],
      },
    ],
  },
  {
    table: 'Container',
    method: 'GET',
    path: ({ container: name }) => `/v1.24/containers/${name}/json?size=1`,
    status: 200,
    shape: { ...container, SizeRw: 'int', SizeRootFs: 'int' },
  },
  {
    table: 'Exec create',
    method: 'POST',
    path: ({ container: name }) => `/v1.24/containers/${name}/exec`,
    body: { Cmd: ['true'] },
    status: 201,
    // The document has Warnings here, which were always empty: dockerd has long stopped answering them.
    shape: { Id: 'string' },
  },
  {
    table: 'Exec instance',
    method: 'GET',
    path: ({ exec }) => `/v1.24/exec/${exec}/json`,
    status: 200,
    shape: {
      ...all('bool', 'CanRemove OpenStderr OpenStdin OpenStdout Running'),
      ...all('string', 'ContainerID DetachKeys ID'),
      ExitCode: 'int',
      ProcessConfig: {
        arguments: 'string[]',
        entrypoint: 'string',
        privileged: 'bool',
        tty: 'bool',
        user: 'string',
      },
    },
  },
  {
    table: 'Image',
    method: 'GET',
    path: ({ image }) => `/v1.24/images/${image}/json`,
    status: 200,
    shape: {
      ...all('string', 'Id Container Comment Os Architecture Parent DockerVersion Author Created'),
      ...all('int', 'VirtualSize Size'),
      ContainerConfig: imageConfig,
      Config: imageConfig,
      GraphDriver: { Name: 'string', Data: mapOrNull('string') },
      ...all('string[]', 'RepoDigests RepoTags'),
      RootFS: { Type: 'string', Layers: 'string[]' },
    },
  },
  {
    table: 'Image history element',
    method: 'GET',
    path: ({ image }) => `/v1.24/images/${image}/history`,
    status: 200,
    shape: [{ ...all('string', 'Id CreatedBy Comment'), ...all('int', 'Created Size'), Tags: LIST }],
  },
  {
    table: 'Volume list',
    method: 'GET',
    path: () => '/v1.24/volumes',
    status: 200,
    shape: { Volumes: [volume], Warnings: 'string[]' },
  },
  {
    table: 'Volume',
    method: 'GET',
    path: ({ volume: name }) => `/v1.24/volumes/${name}`,
    status: 200,
    shape: volume,
  },
  {
    table: 'Network list',
    method: 'GET',
    path: () => '/v1.24/networks',
    status: 200,
    shape: [network],
  },
  { table: 'System information', method: 'GET', path: () => '/v1.24/info', status: 200, shape: info },
  {
    table: 'Version information',
    method: 'GET',
    path: () => '/v1.24/version',
    status: 200,
    shape: {
      ...all('string', 'Version Os KernelVersion GoVersion GitCommit Arch ApiVersion BuildTime'),
      Experimental: 'bool',
    },
  },
  {
    table: 'Error',
    method: 'GET',
    path: () => '/v1.24/containers/json?filters=nonsense',
    status: 400,
    shape: { message: 'string' },
  },
];

/** One event of the stream of GET /v1.24/events. */
export const SEED_EVENT: Shape = {
  ...all('string', 'status? id? from?'),
  ...all('string', 'Type Action'),
  Actor: { ID: 'string', Attributes: map('string') },
  ...all('int', 'time timeNano'),
};

/** Where `value` is not as the table says: one line each, empty when it is. */
export function compareShape(shape: Shape, value: unknown, path = ''): string[] {
  const where = path === '' ? 'the answer' : path;
  if (typeof shape === 'string') {
    return shape.split('|').some((type) => isOfType(type, value))
      ? []
      : [`${where}: ${typeOf(value)} in place of ${shape}`];
  }
  if (isTuple(shape)) {
    const [element] = shape;
    return Array.isArray(value)
      ? value.flatMap((item: unknown, index) => compareShape(element, item, `${path}[${index}]`))
      : [`${where}: ${typeOf(value)} in place of an array`];
  }
  if (isMapShape(shape)) {
    return compareMap(shape, value, where);
  }
  return isPlainObject(value)
    ? compareFields(shape, value, path)
    : [`${where}: ${typeOf(value)} in place of an object`];
}

function isTuple(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape);
}

function compareMap(shape: MapShape, value: unknown, where: string): string[] {
  if (value === null && shape.orNull) {
    return [];
  }
  return isPlainObject(value)
    ? Object.entries(value).flatMap(([key, item]) => compareShape(shape.mapOf, item, `${where}{${key}}`))
    : [`${where}: ${typeOf(value)} in place of a map`];
}

function compareFields(
  shape: { readonly [field: string]: Shape | readonly string[] },
  value: Record<string, unknown>,
  path: string,
): string[] {
  const problems: string[] = [];
  const allowed = new Set<string>();
  for (const [key, expected] of Object.entries(shape)) {
    if (key === '+') {
      // '+' is the one field whose value is a list of names.
      (expected as readonly string[]).forEach((name) => allowed.add(name));
      continue;
    }
    const name = key.replace('?', '');
    allowed.add(name);
    const at = path === '' ? name : `${path}.${name}`;
    if (name in value) {
      // Every other field is a shape.
      problems.push(...compareShape(expected as Shape, value[name], at));
    } else if (!key.endsWith('?')) {
      problems.push(`${at}: missing`);
    }
  }
  const extra = Object.keys(value).filter((key) => !allowed.has(key));
  return [...problems, ...extra.map((key) => `${path === '' ? key : `${path}.${key}`}: one field too many`)];
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'any':
      return value !== null && value !== undefined;
    case 'null':
      return value === null;
    case 'string':
      return typeof value === 'string';
    case 'int':
      return typeof value === 'number' && Number.isInteger(value);
    case 'bool':
      return typeof value === 'boolean';
    case '[]':
      return Array.isArray(value);
    case 'string[]':
      return Array.isArray(value) && value.every((item) => typeof item === 'string');
    case 'string[][]':
      return Array.isArray(value) && value.every((item) => isOfType('string[]', item));
    default:
      throw new Error(`unknown type ${type} in a seed table`);
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}
