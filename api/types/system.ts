/** Wire shapes of system, events, networks and volumes at API 1.55. Types only. */
import type { ContainerSummary } from './container.ts';
import type { EndpointSettings } from './endpoint.ts';
import type { StringMap } from './maps.ts';
import type { SwarmInfo } from './swarm/swarm.ts';
import type { GenericResource } from './swarm/task.ts';
import type { ImageSummary } from './image.ts';

export interface VersionResponse {
  Platform: { Name: string };
  Components: { Name: string; Version: string; Details: StringMap }[];
  Version: string;
  ApiVersion: string;
  MinAPIVersion: string;
  GitCommit: string;
  GoVersion: string;
  Os: string;
  Arch: string;
  KernelVersion: string;
  Experimental?: boolean;
  BuildTime: string;
}

export interface IndexConfig {
  Name: string;
  Mirrors: string[];
  Secure: boolean;
  Official: boolean;
}

export interface SystemInfo {
  ID: string;
  Containers: number;
  ContainersRunning: number;
  ContainersPaused: number;
  ContainersStopped: number;
  Images: number;
  Driver: string;
  DriverStatus: string[][];
  SystemStatus: string[][] | null;
  DockerRootDir: string;
  Plugins: { Volume: string[]; Network: string[]; Authorization: string[] | null; Log: string[] };
  MemoryLimit: boolean;
  SwapLimit: boolean;
  KernelMemory?: boolean;
  CpuCfsPeriod: boolean;
  CpuCfsQuota: boolean;
  CPUShares: boolean;
  CPUSet: boolean;
  PidsLimit: boolean;
  IPv4Forwarding: boolean;
  Debug: boolean;
  NFd: number;
  OomKillDisable: boolean;
  NGoroutines: number;
  SystemTime: string;
  LoggingDriver: string;
  CgroupDriver: string;
  CgroupVersion: string;
  NEventsListener: number;
  KernelVersion: string;
  OperatingSystem: string;
  OSVersion: string;
  OSType: string;
  Architecture: string;
  IndexServerAddress: string;
  RegistryConfig: {
    InsecureRegistryCIDRs: string[];
    IndexConfigs: Record<string, IndexConfig>;
    Mirrors: string[] | null;
  };
  NCPU: number;
  MemTotal: number;
  GenericResources: GenericResource[] | null;
  HttpProxy: string;
  HttpsProxy: string;
  NoProxy: string;
  Name: string;
  Labels: string[];
  ExperimentalBuild: boolean;
  ServerVersion: string;
  Runtimes: Record<string, { path: string; runtimeArgs?: string[] }>;
  DefaultRuntime: string;
  Swarm: SwarmInfo;
  LiveRestoreEnabled: boolean;
  Isolation: string;
  InitBinary: string;
  ContainerdCommit: { ID: string };
  RuncCommit: { ID: string };
  InitCommit: { ID: string };
  SecurityOptions: string[];
  ProductLicense?: string;
  DefaultAddressPools?: { Base: string; Size: number }[];
  CDISpecDirs: string[] | null;
  /** Devices that containers can ask for by name. */
  DiscoveredDevices?: { Source: 'cdi'; ID: string }[];
  FirewallBackend: { Driver: string; Info?: [string, string][] };
  Warnings: string[] | null;
}

/** What clients before 1.50 get beside: whether packets of bridges pass through the tables of iptables. */
export interface LegacyInfo {
  BridgeNfIptables: boolean;
  BridgeNfIp6tables: boolean;
}

export type EventType =
  | 'container'
  | 'image'
  | 'volume'
  | 'network'
  | 'daemon'
  | 'builder'
  | 'node'
  | 'service'
  | 'secret'
  | 'config';

export interface EventMessage {
  Type: EventType;
  Action: string;
  Actor: { ID: string; Attributes: StringMap };
  scope: 'local' | 'swarm';
  /** UNIX seconds. */
  time: number;
  /** UNIX nanoseconds; beyond 2^53, so it is serialised from a bigint. */
  timeNano: bigint;
}

export interface IpamConfig {
  Subnet?: string;
  IPRange?: string;
  Gateway?: string;
  AuxiliaryAddresses?: StringMap | null;
}

/** Body of POST /networks/create. */
export interface NetworkCreateRequest {
  Name?: string;
  CheckDuplicate?: boolean;
  Driver?: string;
  Scope?: string;
  /** Of API 1.48: only `true` is accepted. */
  EnableIPv4?: boolean;
  EnableIPv6?: boolean;
  IPAM?: { Driver?: string; Options?: StringMap | null; Config?: IpamConfig[] | null } | null;
  Internal?: boolean;
  Attachable?: boolean;
  Ingress?: boolean;
  ConfigOnly?: boolean;
  ConfigFrom?: { Network?: string } | null;
  Options?: StringMap | null;
  Labels?: StringMap | null;
}

export interface NetworkCreateResponse {
  Id: string;
  Warning: string;
}

/** Body of POST /networks/{id}/connect. */
export interface NetworkConnectRequest {
  Container?: string;
  EndpointConfig?: EndpointSettings | null;
}

/** Body of POST /networks/{id}/disconnect. */
export interface NetworkDisconnectRequest {
  Container?: string;
  Force?: boolean;
}

export interface NetworkPruneReport {
  NetworksDeleted: string[] | null;
}

export interface NetworkInspect {
  Name: string;
  Id: string;
  Created: string;
  Scope: string;
  Driver: string;
  EnableIPv4: boolean;
  EnableIPv6: boolean;
  IPAM: { Driver: string; Options: StringMap | null; Config: IpamConfig[] };
  Internal: boolean;
  Attachable: boolean;
  Ingress: boolean;
  ConfigFrom: { Network: string };
  ConfigOnly: boolean;
  Containers: Record<
    string,
    { Name: string; EndpointID: string; MacAddress: string; IPv4Address: string; IPv6Address: string }
  >;
  Options: StringMap;
  Labels: StringMap;
  /** Of one network, not in lists. */
  Status?: { IPAM: { Subnets?: Record<string, SubnetStatus> } };
  /** Of the swarm's networks, on nodes that are in one: the nodes that are in it. */
  Peers?: NetworkPeer[];
  /** Of the swarm's networks, on managers and on nodes that have them, when asked for by `verbose=true`. */
  Services?: NetworkServices;
}

/** Addresses of a subnet. */
export interface SubnetStatus {
  /** That are given out or kept back: the network's own, the gateway's, those of containers. */
  IPsInUse: number | bigint;
  /** That are free where addresses of containers come from; 2^64 - 1 at most, as dockerd counts them. */
  DynamicIPsAvailable: number | bigint;
}

/** A node that is in a network. */
export interface NetworkPeer {
  Name: string;
  /** Its address for overlay traffic. */
  IP: string;
}

/** What runs in a network on all nodes, by the service's name. */
export type NetworkServices = Record<
  string,
  {
    VIP: string;
    Ports: string[];
    LocalLBIndex: number;
    Tasks: { Name: string; EndpointID: string; EndpointIP: string; Info: Record<string, string> }[];
  }
>;

export interface VolumeCreateRequest {
  Name?: string;
  Driver?: string;
  DriverOpts?: StringMap | null;
  Labels?: StringMap | null;
  /** Of API 1.42: refused. */
  ClusterVolumeSpec?: object;
}

export interface VolumePruneReport {
  VolumesDeleted: string[];
  SpaceReclaimed: number;
}

export interface VolumeView {
  Name: string;
  Driver: string;
  Mountpoint: string;
  CreatedAt?: string;
  Status?: Record<string, unknown>;
  Labels: StringMap | null;
  Scope: string;
  Options: StringMap | null;
}

export type DiskUsageType = 'container' | 'image' | 'volume' | 'build-cache';

export interface UsedVolume extends VolumeView {
  /** Size in bytes, -1 = unknown; RefCount = containers that have it among their mounts. */
  UsageData: { Size: number; RefCount: number };
}

/** How much of one kind there is; `Items` where they were asked for. Bytes. */
export interface UsageOfKind<Item> {
  ActiveCount: number;
  TotalCount: number;
  Reclaimable: number;
  TotalSize: number;
  Items?: Item[];
}

/** What builds keep for the next ones. */
export interface BuildCacheItem {
  ID: string;
  Parents: string[];
  /** `regular`, `source.local`, `exec.cachemount`. */
  Type: string;
  Description: string;
  InUse: boolean;
  Shared: boolean;
  Size: number;
  /** RFC 3339. */
  CreatedAt: string;
  LastUsedAt: string | null;
  UsageCount: number;
}

/** Answer of GET /system/df since 1.52: the kinds that were asked for. */
export interface UsageByKind {
  ImageUsage?: UsageOfKind<ImageSummary>;
  ContainerUsage?: UsageOfKind<ContainerSummary>;
  VolumeUsage?: UsageOfKind<UsedVolume>;
  BuildCacheUsage?: UsageOfKind<BuildCacheItem>;
}

/** What is known of the disk, and the whole answer of before 1.52. Kinds that were not asked for are null. */
export interface DiskUsage {
  LayersSize: number;
  Images: ImageSummary[] | null;
  Containers: ContainerSummary[] | null;
  Volumes: UsedVolume[] | null;
  BuildCache: BuildCacheItem[] | null;
}

/** Body of POST /auth. */
export interface AuthRequest {
  username?: string;
  password?: string;
  /** Accepted for old clients; registries have no use for it. */
  email?: string;
  /** `https://index.docker.io/v1/`, `registry.example.com:5000`; Docker Hub when empty. */
  serveraddress?: string;
  /** Replaces the password. */
  identitytoken?: string;
}

export interface AuthResponse {
  Status: string;
  /** Replaces the password from now on; empty when the registry gives none. */
  IdentityToken: string;
}
