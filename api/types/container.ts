/** Wire shapes of containers at API 1.55. Types only. Older shapes are made in `api/versions`. */

import type { EndpointSettings, NetworkingConfig } from './endpoint.ts';
import type { HostConfig, PortMap, Resources, RestartPolicy } from './host-config.ts';
import type { EmptyObjectMap, StringMap } from './maps.ts';

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

/** Body of POST /containers/create. */
export interface ContainerCreateRequest extends ContainerConfig {
  HostConfig?: HostConfig | null;
  NetworkingConfig?: NetworkingConfig | null;
}

/** Body of POST /containers/{id}/update. */
export interface ContainerUpdateRequest extends Resources {
  /** Documented, and fixed when a container is made. */
  Init?: boolean | null;
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
  SandboxID: string;
  SandboxKey: string;
  Ports: PortMap;
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
  Health: { Status: HealthView['Status'] | 'none'; FailingStreak: number };
  HostConfig: { NetworkMode: string; Annotations?: StringMap };
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
