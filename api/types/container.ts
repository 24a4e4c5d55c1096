/** Wire shapes of containers and exec at API 1.44. Types only. Older shapes are made in `api/versions`. */

export type StringMap = Record<string, string>;
export type EmptyObjectMap = Record<string, Record<string, never>>;

export interface HealthConfig {
  Test?: string[];
  /** Nanoseconds. */
  Interval?: number;
  Timeout?: number;
  StartPeriod?: number;
  StartInterval?: number;
  Retries?: number;
}

/** The portable part of a container's configuration; an image carries the same. */
export interface ContainerConfig {
  Hostname?: string;
  Domainname?: string;
  User?: string;
  AttachStdin?: boolean;
  AttachStdout?: boolean;
  AttachStderr?: boolean;
  ExposedPorts?: EmptyObjectMap | null;
  Tty?: boolean;
  OpenStdin?: boolean;
  StdinOnce?: boolean;
  Env?: string[] | null;
  Cmd?: string[] | null;
  Healthcheck?: HealthConfig | null;
  ArgsEscaped?: boolean;
  Image?: string;
  Volumes?: EmptyObjectMap | null;
  WorkingDir?: string;
  Entrypoint?: string[] | null;
  NetworkDisabled?: boolean;
  MacAddress?: string;
  OnBuild?: string[] | null;
  Labels?: StringMap | null;
  StopSignal?: string;
  StopTimeout?: number | null;
  Shell?: string[] | null;
}

export interface PortBinding {
  HostIp?: string;
  HostPort?: string;
}
/** `80/tcp` -> host bindings. null: exposed only. */
export type PortMap = Record<string, PortBinding[] | null>;

export interface RestartPolicy {
  Name?: string;
  MaximumRetryCount?: number;
}

export interface WeightDevice {
  Path: string;
  Weight: number;
}
export interface ThrottleDevice {
  Path: string;
  Rate: number;
}
export interface DeviceMapping {
  PathOnHost: string;
  PathInContainer?: string;
  CgroupPermissions?: string;
}
export interface DeviceRequest {
  Driver?: string;
  Count?: number;
  DeviceIDs?: string[] | null;
  Capabilities?: string[][] | null;
  Options?: StringMap | null;
}
export interface Ulimit {
  Name: string;
  Soft: number;
  Hard: number;
}
export interface LogConfig {
  Type?: string;
  Config?: StringMap | null;
}

export interface MountRequest {
  Type?: 'bind' | 'volume' | 'tmpfs' | 'npipe' | 'cluster' | 'image';
  Source?: string;
  Target?: string;
  ReadOnly?: boolean;
  Consistency?: string;
  BindOptions?: {
    Propagation?: string;
    NonRecursive?: boolean;
    CreateMountpoint?: boolean;
    ReadOnlyNonRecursive?: boolean;
    ReadOnlyForceRecursive?: boolean;
  };
  VolumeOptions?: {
    NoCopy?: boolean;
    Labels?: StringMap | null;
    Subpath?: string;
    DriverConfig?: { Name?: string; Options?: StringMap | null };
  };
  TmpfsOptions?: { SizeBytes?: number; Mode?: number };
}

/** What is limited and what may be changed by update. */
export interface Resources {
  CpuShares?: number;
  Memory?: number;
  CgroupParent?: string;
  BlkioWeight?: number;
  BlkioWeightDevice?: WeightDevice[] | null;
  BlkioDeviceReadBps?: ThrottleDevice[] | null;
  BlkioDeviceWriteBps?: ThrottleDevice[] | null;
  BlkioDeviceReadIOps?: ThrottleDevice[] | null;
  BlkioDeviceWriteIOps?: ThrottleDevice[] | null;
  CpuPeriod?: number;
  CpuQuota?: number;
  CpuRealtimePeriod?: number;
  CpuRealtimeRuntime?: number;
  CpusetCpus?: string;
  CpusetMems?: string;
  Devices?: DeviceMapping[] | null;
  DeviceCgroupRules?: string[] | null;
  DeviceRequests?: DeviceRequest[] | null;
  KernelMemory?: number;
  KernelMemoryTCP?: number;
  MemoryReservation?: number;
  MemorySwap?: number;
  MemorySwappiness?: number | null;
  NanoCpus?: number;
  OomKillDisable?: boolean | null;
  PidsLimit?: number | null;
  Ulimits?: Ulimit[] | null;
  CpuCount?: number;
  CpuPercent?: number;
  IOMaximumIOps?: number;
  IOMaximumBandwidth?: number;
}

export interface HostConfig extends Resources {
  Binds?: string[] | null;
  ContainerIDFile?: string;
  LogConfig?: LogConfig;
  NetworkMode?: string;
  PortBindings?: PortMap | null;
  RestartPolicy?: RestartPolicy;
  AutoRemove?: boolean;
  VolumeDriver?: string;
  VolumesFrom?: string[] | null;
  Mounts?: MountRequest[] | null;
  ConsoleSize?: [number, number];
  Annotations?: StringMap | null;
  CapAdd?: string[] | null;
  CapDrop?: string[] | null;
  CgroupnsMode?: string;
  Dns?: string[] | null;
  DnsOptions?: string[] | null;
  DnsSearch?: string[] | null;
  ExtraHosts?: string[] | null;
  GroupAdd?: string[] | null;
  IpcMode?: string;
  Cgroup?: string;
  Links?: string[] | null;
  OomScoreAdj?: number;
  PidMode?: string;
  Privileged?: boolean;
  PublishAllPorts?: boolean;
  ReadonlyRootfs?: boolean;
  SecurityOpt?: string[] | null;
  StorageOpt?: StringMap | null;
  Tmpfs?: StringMap | null;
  UTSMode?: string;
  UsernsMode?: string;
  ShmSize?: number;
  Sysctls?: StringMap | null;
  Runtime?: string;
  Isolation?: string;
  MaskedPaths?: string[] | null;
  ReadonlyPaths?: string[] | null;
  Init?: boolean | null;
}

export interface EndpointIpamConfig {
  IPv4Address?: string;
  IPv6Address?: string;
  LinkLocalIPs?: string[] | null;
}

export interface EndpointSettings {
  IPAMConfig?: EndpointIpamConfig | null;
  Links?: string[] | null;
  Aliases?: string[] | null;
  MacAddress?: string;
  DriverOpts?: StringMap | null;
  NetworkID?: string;
  EndpointID?: string;
  Gateway?: string;
  IPAddress?: string;
  IPPrefixLen?: number;
  IPv6Gateway?: string;
  GlobalIPv6Address?: string;
  GlobalIPv6PrefixLen?: number;
  DNSNames?: string[] | null;
  /** Highest = the container's way out. Of API 1.48; taken from any version, and shown where it was given. */
  GwPriority?: number;
}

export interface NetworkingConfig {
  EndpointsConfig?: Record<string, EndpointSettings | null> | null;
}

/** Body of POST /containers/create. */
export interface ContainerCreateRequest extends ContainerConfig {
  HostConfig?: HostConfig | null;
  NetworkingConfig?: NetworkingConfig | null;
}

/** Body of POST /containers/{id}/update. */
export interface ContainerUpdateRequest extends Resources {
  RestartPolicy?: RestartPolicy;
}

export interface ContainerUpdateResponse {
  Warnings: string[];
}

export interface ContainerCreateResponse {
  Id: string;
  Warnings: string[];
}

export interface MountPoint {
  Type: string;
  Name?: string;
  Source: string;
  Destination: string;
  Driver?: string;
  Mode: string;
  RW: boolean;
  Propagation: string;
}

export type ContainerStatus =
  | 'created'
  | 'running'
  | 'paused'
  | 'restarting'
  | 'removing'
  | 'exited'
  | 'dead';

export interface ContainerStateView {
  Status: ContainerStatus;
  Running: boolean;
  Paused: boolean;
  Restarting: boolean;
  OOMKilled: boolean;
  Dead: boolean;
  Pid: number;
  ExitCode: number;
  Error: string;
  StartedAt: string;
  FinishedAt: string;
  /** Of containers that have a health check and have run. */
  Health?: HealthView;
}

export interface HealthView {
  Status: 'starting' | 'healthy' | 'unhealthy';
  FailingStreak: number;
  /** The last five, oldest first. */
  Log: { Start: string; End: string; ExitCode: number; Output: string }[];
}

export interface NetworkSettingsView {
  Bridge: string;
  SandboxID: string;
  SandboxKey: string;
  Ports: PortMap;
  HairpinMode: boolean;
  LinkLocalIPv6Address: string;
  LinkLocalIPv6PrefixLen: number;
  SecondaryIPAddresses: null;
  SecondaryIPv6Addresses: null;
  EndpointID: string;
  Gateway: string;
  GlobalIPv6Address: string;
  GlobalIPv6PrefixLen: number;
  IPAddress: string;
  IPPrefixLen: number;
  IPv6Gateway: string;
  MacAddress: string;
  Networks: Record<string, EndpointSettings>;
}

export interface ContainerInspect {
  Id: string;
  Created: string;
  Path: string;
  Args: string[];
  State: ContainerStateView;
  Image: string;
  ResolvConfPath: string;
  HostnamePath: string;
  HostsPath: string;
  LogPath: string;
  Name: string;
  RestartCount: number;
  Driver: string;
  Platform: string;
  MountLabel: string;
  ProcessLabel: string;
  AppArmorProfile: string;
  ExecIDs: string[] | null;
  HostConfig: HostConfig;
  GraphDriver: { Name: string; Data: StringMap | null };
  SizeRw?: number;
  SizeRootFs?: number;
  Mounts: MountPoint[];
  Config: ContainerConfig;
  NetworkSettings: NetworkSettingsView;
}

export interface PortSummary {
  IP?: string;
  PrivatePort: number;
  PublicPort?: number;
  Type: string;
}

export interface ContainerSummary {
  Id: string;
  Names: string[];
  Image: string;
  ImageID: string;
  Command: string;
  Created: number;
  Ports: PortSummary[];
  SizeRw?: number;
  SizeRootFs?: number;
  Labels: StringMap;
  State: ContainerStatus;
  Status: string;
  HostConfig: { NetworkMode: string };
  NetworkSettings: { Networks: Record<string, EndpointSettings> };
  Mounts: MountPoint[];
}

export interface WaitResponse {
  StatusCode: number;
  Error?: { Message: string };
}

/** What the header X-Docker-Container-Path-Stat carries. */
export interface PathStat {
  name: string;
  size: number;
  /** Bits of Go's os.FileMode. */
  mode: number;
  /** RFC 3339. */
  mtime: string;
  /** Where a link leads inside the container, all links followed; "" for everything else. */
  linkTarget: string;
}

/** Kind: 0 modified, 1 added, 2 deleted. */
export interface ContainerChange {
  Path: string;
  Kind: number;
}

export interface ContainerPruneReport {
  ContainersDeleted: string[] | null;
  SpaceReclaimed: number;
}

export interface ExecCreateRequest {
  AttachStdin?: boolean;
  AttachStdout?: boolean;
  AttachStderr?: boolean;
  ConsoleSize?: [number, number] | null;
  DetachKeys?: string;
  Tty?: boolean;
  Env?: string[] | null;
  Cmd?: string[] | null;
  Privileged?: boolean;
  User?: string;
  WorkingDir?: string;
}

export interface ExecStartRequest {
  Detach?: boolean;
  Tty?: boolean;
  ConsoleSize?: [number, number] | null;
}

export interface ExecInspect {
  ID: string;
  Running: boolean;
  ExitCode: number | null;
  ProcessConfig: {
    tty: boolean;
    entrypoint: string;
    arguments: string[];
    privileged?: boolean;
    user?: string;
  };
  OpenStdin: boolean;
  OpenStderr: boolean;
  OpenStdout: boolean;
  CanRemove: boolean;
  ContainerID: string;
  DetachKeys: string;
  Pid: number;
}
