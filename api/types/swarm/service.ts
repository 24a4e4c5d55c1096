/** What a user wants of a service: `ServiceSpec` of the wire at API 1.55. Types only. */

import type { StringMap } from '../maps.ts';
import type { ObjectHead, ObjectVersion } from './meta.ts';
import type { TaskSpec } from './task.ts';

/** Exactly one is given. A job counts `TotalCompletions` tasks done, at most `MaxConcurrent` at a time. */
export interface ServiceMode {
  Replicated?: { Replicas?: number | null };
  Global?: Record<string, never>;
  ReplicatedJob?: { MaxConcurrent?: number | null; TotalCompletions?: number | null };
  GlobalJob?: Record<string, never>;
}

/** Durations in nanoseconds; `Parallelism` 0 is all at once. Absent: 1, pause, 5 s, 0, stop-first. */
export interface UpdateConfig {
  Parallelism?: number;
  Delay?: number;
  FailureAction?: 'pause' | 'continue' | 'rollback';
  Monitor?: number;
  MaxFailureRatio?: number;
  Order?: 'stop-first' | 'start-first';
}

/** Absent: tcp, ingress, and a published port that is allocated. */
export interface PortConfig {
  Name?: string;
  Protocol?: 'tcp' | 'udp' | 'sctp';
  TargetPort?: number;
  PublishedPort?: number;
  PublishMode?: 'ingress' | 'host';
}

export interface EndpointSpec {
  Mode?: 'vip' | 'dnsrr';
  Ports?: PortConfig[] | null;
}

export interface ServiceSpec {
  Name?: string;
  Labels?: StringMap | null;
  TaskTemplate?: TaskSpec;
  Mode?: ServiceMode;
  UpdateConfig?: UpdateConfig | null;
  RollbackConfig?: UpdateConfig | null;
  EndpointSpec?: EndpointSpec | null;
}

/** `UpdateStatus.State`. */
export type UpdateState =
  | 'updating'
  | 'paused'
  | 'completed'
  | 'rollback_started'
  | 'rollback_paused'
  | 'rollback_completed';

/** A service of `GET /services`. */
export interface ServiceInspect extends ObjectHead {
  Spec: ServiceSpec;
  PreviousSpec?: ServiceSpec;
  /** `Ports` as they came out, those that were allocated included. */
  Endpoint: {
    Spec: EndpointSpec;
    Ports?: PortConfig[];
    VirtualIPs?: { NetworkID: string; Addr?: string }[];
  };
  UpdateStatus?: { State: UpdateState; StartedAt?: string; CompletedAt?: string; Message: string };
  /** Only where a list was asked for it. */
  ServiceStatus?: ServiceStatus;
  JobStatus?: { JobIteration: ObjectVersion; LastExecution: string };
}

/** `CompletedTasks` counts those of a job's present iteration. */
export interface ServiceStatus {
  RunningTasks: number;
  DesiredTasks: number;
  CompletedTasks: number;
}
