/** What a host gives to a container: `HostConfig` of the wire at API 1.55. Types only. */

import type { StringMap } from './maps.ts';

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
  TmpfsOptions?: { SizeBytes?: number; Mode?: number; Options?: string[][] | null };
  ImageOptions?: { Subpath?: string };
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
