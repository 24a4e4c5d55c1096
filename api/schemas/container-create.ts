import {
  flag,
  integer,
  listOf,
  mapOf,
  oneOf,
  orNull,
  secret,
  struct,
  text,
  texts,
  unsigned,
} from './schema.ts';
import type { Schema } from './schema.ts';

const labels = secret(mapOf(text));
const emptyObjects = mapOf(struct({}));

const weightDevices = listOf(struct({ Path: text, Weight: unsigned }));
const throttleDevices = listOf(struct({ Path: text, Rate: unsigned }));
/** Height and width of the client's terminal. */
export const consoleSize: Schema = { type: 'array', items: unsigned, minItems: 2, maxItems: 2 };

/** A mount of a container or of a service's tasks (`MountRequest`). */
export const mount = struct({
  Type: oneOf('bind', 'volume', 'tmpfs', 'npipe', 'cluster', 'image'),
  Source: text,
  Target: text,
  ReadOnly: flag,
  Consistency: text,
  BindOptions: struct({
    Propagation: text,
    NonRecursive: flag,
    CreateMountpoint: flag,
    ReadOnlyNonRecursive: flag,
    ReadOnlyForceRecursive: flag,
  }),
  VolumeOptions: struct({
    NoCopy: flag,
    Labels: labels,
    Subpath: text,
    DriverConfig: struct({ Name: text, Options: labels }),
  }),
  TmpfsOptions: struct({ SizeBytes: integer, Mode: unsigned, Options: listOf(texts) }),
  ImageOptions: struct({ Subpath: text }),
});

export const ulimits = listOf(struct({ Name: text, Soft: integer, Hard: integer }));

/** What is limited; the body of an update has nothing else but the restart policy. */
export const resources = {
  CpuShares: integer,
  Memory: integer,
  CgroupParent: text,
  BlkioWeight: unsigned,
  BlkioWeightDevice: weightDevices,
  BlkioDeviceReadBps: throttleDevices,
  BlkioDeviceWriteBps: throttleDevices,
  BlkioDeviceReadIOps: throttleDevices,
  BlkioDeviceWriteIOps: throttleDevices,
  CpuPeriod: integer,
  CpuQuota: integer,
  CpuRealtimePeriod: integer,
  CpuRealtimeRuntime: integer,
  CpusetCpus: text,
  CpusetMems: text,
  Devices: listOf(struct({ PathOnHost: text, PathInContainer: text, CgroupPermissions: text })),
  DeviceCgroupRules: texts,
  DeviceRequests: listOf(
    struct({ Driver: text, Count: integer, DeviceIDs: texts, Capabilities: listOf(texts), Options: labels }),
  ),
  KernelMemory: integer,
  KernelMemoryTCP: integer,
  MemoryReservation: integer,
  MemorySwap: integer,
  MemorySwappiness: integer,
  NanoCpus: integer,
  OomKillDisable: flag,
  PidsLimit: integer,
  Ulimits: ulimits,
  CpuCount: integer,
  CpuPercent: integer,
  IOMaximumIOps: unsigned,
  IOMaximumBandwidth: unsigned,
};

export const restartPolicy = struct({ Name: text, MaximumRetryCount: integer });

const hostFields = {
  ...resources,
  Binds: texts,
  ContainerIDFile: text,
  LogConfig: struct({ Type: text, Config: labels }),
  NetworkMode: text,
  PortBindings: mapOf(orNull(listOf(struct({ HostIp: text, HostPort: text })))),
  RestartPolicy: restartPolicy,
  AutoRemove: flag,
  VolumeDriver: text,
  VolumesFrom: texts,
  Mounts: listOf(mount),
  ConsoleSize: consoleSize,
  Annotations: labels,
  CapAdd: texts,
  CapDrop: texts,
  CgroupnsMode: text,
  Dns: texts,
  DnsOptions: texts,
  DnsSearch: texts,
  ExtraHosts: texts,
  GroupAdd: texts,
  IpcMode: text,
  Cgroup: text,
  Links: texts,
  OomScoreAdj: integer,
  PidMode: text,
  Privileged: flag,
  PublishAllPorts: flag,
  ReadonlyRootfs: flag,
  SecurityOpt: texts,
  StorageOpt: labels,
  Tmpfs: labels,
  UTSMode: text,
  UsernsMode: text,
  ShmSize: integer,
  Sysctls: labels,
  Runtime: text,
  Isolation: text,
  MaskedPaths: texts,
  ReadonlyPaths: texts,
  Init: flag,
};

/** An endpoint of a container in a network (`EndpointSettings`). */
export const endpoint: Schema = struct({
  IPAMConfig: struct({ IPv4Address: text, IPv6Address: text, LinkLocalIPs: texts }),
  Links: texts,
  Aliases: texts,
  MacAddress: text,
  DriverOpts: labels,
  NetworkID: text,
  EndpointID: text,
  Gateway: text,
  IPAddress: text,
  IPPrefixLen: integer,
  IPv6Gateway: text,
  GlobalIPv6Address: text,
  GlobalIPv6PrefixLen: integer,
  DNSNames: texts,
  GwPriority: integer,
});

export const healthcheck = struct({
  Test: secret(texts),
  Interval: integer,
  Timeout: integer,
  StartPeriod: integer,
  StartInterval: integer,
  Retries: integer,
});

const containerConfig = {
  Hostname: text,
  Domainname: text,
  User: text,
  AttachStdin: flag,
  AttachStdout: flag,
  AttachStderr: flag,
  ExposedPorts: emptyObjects,
  Tty: flag,
  OpenStdin: flag,
  StdinOnce: flag,
  Env: secret(texts),
  Cmd: secret(texts),
  Healthcheck: healthcheck,
  ArgsEscaped: flag,
  Image: text,
  Volumes: emptyObjects,
  WorkingDir: text,
  Entrypoint: secret(texts),
  NetworkDisabled: flag,
  MacAddress: text,
  OnBuild: texts,
  Labels: labels,
  StopSignal: text,
  StopTimeout: integer,
  Shell: secret(texts),
};

/** Body of POST /commit (`ContainerConfig`). */
export const containerConfigSchema: Schema = struct(containerConfig);

/** Body of POST /containers/create at 1.55 (`ContainerCreateRequest`). */
const createFields = {
  ...containerConfig,
  HostConfig: struct(hostFields),
  NetworkingConfig: struct({ EndpointsConfig: mapOf(orNull(endpoint)) }),
};
export const containerCreateSchema: Schema = struct(createFields);

/**
 * What the body may hold before it is prepared: until 1.45 the fields of HostConfig may also stand beside it, as
 * clients before 1.18 send them, and Cpuset is another name of CpusetCpus (moby runconfig/config_unix.go).
 */
export const containerCreateAccepts: Schema = struct({ ...hostFields, Cpuset: text, ...createFields });
export const hostFieldNames: readonly string[] = Object.keys(hostFields);
