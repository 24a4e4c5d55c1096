import type { GenericResource } from '../../api/types/swarm/task.ts';
import type { HostFacts } from '../../runtime/host/facts.ts';

/** What `/info` and `/version` tell of the machine. */
export type SystemFacts = Pick<
  HostFacts,
  | 'hostname'
  | 'kernelVersion'
  | 'operatingSystem'
  | 'osVersion'
  | 'architecture'
  | 'imageArchitecture'
  | 'cpus'
  | 'memoryBytes'
  | 'cgroup'
  | 'cgroupNamespaces'
  | 'seccomp'
  | 'components'
  | 'warnings'
>;

/** What they tell of the configuration. Asked at every request, because some of it changes with a reload. */
export interface SystemSettings {
  debug: boolean;
  labels: readonly string[];
  dataRoot: string;
  storageDriver: string;
  logDriver: string;
  defaultRuntime: string;
  /** As configured; runc is there always. */
  runtimes: Readonly<Record<string, { path: string; runtimeArgs: readonly string[] }>>;
  liveRestore: boolean;
  /** Where devices are described. */
  cdiSpecDirs: readonly string[];
  noNewPrivileges: boolean;
  /** `builtin`, `unconfined` or a path. */
  seccompProfile: string;
  /** Profile that containers get unless they say otherwise; null = none. */
  apparmorProfile: string | null;
  /** True when containers get a cgroup namespace of their own unless they say otherwise. */
  privateCgroupNamespaces: boolean;
  insecureRegistries: readonly string[];
  registryMirrors: readonly string[];
  /** As configured; empty = the built-in ones. */
  addressPools: readonly { base: string; size: number }[];
  /** What this node offers to services besides processors and memory. */
  genericResources: readonly GenericResource[];
  /** Further sentences about the configuration that clients should show. */
  warnings: readonly string[];
}

/** How many of what there is right now. */
export interface SystemCounts {
  running: number;
  paused: number;
  /** Neither running nor paused. */
  stopped: number;
  images: number;
}

/** The program itself. */
export interface Build {
  version: string;
  /** `1.55` and `1.24`. */
  apiVersion: string;
  minApiVersion: string;
  /** Empty when unknown. */
  commit: string;
  /** RFC 3339; empty when unknown. */
  time: string;
  sqliteVersion: string;
}

/** Answers from /proc and the disk that change while the daemon runs. */
export interface LiveFacts {
  /** True when a switch below /proc/sys is on. */
  isOn(sysctl: string): boolean;
  openFiles(): number;
  /** What keeps the event loop busy: timers, sockets, processes. */
  activeResources(): number;
  /** Name of the file system below a path, as dockerd calls them (`extfs`). */
  fileSystem(path: string): string;
}
