/** A service's task template, `TaskSpec`, and a task, of the wire at API 1.55. Types only. */

import type { StringMap } from '../maps.ts';
import type { ContainerSpec } from './container-spec.ts';
import type { ObjectHead, ObjectVersion } from './meta.ts';
import type { NetworkAttachment } from './network.ts';

/** A resource that only a name and a count (discrete) or a name and a value (named) describe. */
export interface GenericResource {
  NamedResourceSpec?: { Kind: string; Value: string };
  DiscreteResourceSpec?: { Kind: string; Value: number };
}

/** `NanoCPUs` are billionths of a processor. Only what is reserved counts when a node is chosen, limits never do. */
export interface ResourceAmounts {
  NanoCPUs?: number;
  MemoryBytes?: number;
  GenericResources?: GenericResource[] | null;
}

interface ResourceRequirements {
  Limits?: { NanoCPUs?: number; MemoryBytes?: number; Pids?: number } | null;
  Reservations?: ResourceAmounts | null;
  /** Bytes of swap beside `Limits.MemoryBytes`, -1 for no limit. Absent: as much as memory. */
  SwapBytes?: number | null;
  /** 0 to 100. Absent: the kernel's own. */
  MemorySwappiness?: number | null;
}

/** Durations in nanoseconds. Absent: `any`, 5 s, no limit, no window. */
export interface RestartPolicySpec {
  Condition?: 'none' | 'on-failure' | 'any';
  Delay?: number | null;
  MaxAttempts?: number | null;
  Window?: number | null;
}

/** Empty parts match every platform. */
export interface Platform {
  Architecture?: string;
  OS?: string;
}

/** `MaxReplicas` 0: no limit. A constraint reads `node.labels.zone==a` or with `!=`. */
export interface Placement {
  Constraints?: string[] | null;
  Preferences?: { Spread?: { SpreadDescriptor: string } }[] | null;
  MaxReplicas?: number;
  Platforms?: Platform[] | null;
}

export interface NetworkAttachmentConfig {
  /** The network's id; a name only until the service is stored. */
  Target: string;
  Aliases?: string[] | null;
  DriverOpts?: StringMap | null;
}

export interface LogDriverSpec {
  Name?: string;
  Options?: StringMap | null;
}

export interface TaskSpec {
  ContainerSpec?: ContainerSpec | null;
  Resources?: ResourceRequirements | null;
  RestartPolicy?: RestartPolicySpec | null;
  Placement?: Placement | null;
  Networks?: NetworkAttachmentConfig[] | null;
  LogDriver?: LogDriverSpec | null;
  /** Raised by clients that want every task replaced though nothing else differs. */
  ForceUpdate?: number;
  Runtime?: string;
}

/** A task of `GET /tasks`. `Slot` is absent for global services. */
export interface TaskInspect extends ObjectHead {
  Labels: StringMap;
  Spec: TaskSpec;
  ServiceID?: string;
  Slot?: number;
  NodeID?: string;
  Status: {
    Timestamp: string;
    State: string;
    Message?: string;
    Err?: string;
    ContainerStatus?: { ContainerID: string; PID: number; ExitCode: number };
    PortStatus: { Ports?: TaskPort[] };
  };
  DesiredState: string;
  NetworksAttachments?: NetworkAttachment[];
  GenericResources?: GenericResource[];
  JobIteration?: ObjectVersion;
  Volumes: null;
}

/** A port that a node has published for a task: as `PortConfig`. */
interface TaskPort {
  Name?: string;
  Protocol?: string;
  TargetPort?: number;
  PublishedPort?: number;
  PublishMode?: string;
}
