/** A swarm: `SwarmSpec`, and what is told of it, at API 1.55. Types only. */

import type { StringMap } from '../maps.ts';
import type { ObjectHead } from './meta.ts';
import type { TlsInfo } from './node.ts';
import type { LogDriverSpec } from './task.ts';

export interface ExternalCa {
  Protocol?: string;
  URL?: string;
  Options?: StringMap | null;
  CACert?: string;
}

/** Durations in nanoseconds. Defaults and refusals belong to the operation that stores it. */
export interface SwarmSpec {
  Name?: string;
  Labels?: StringMap | null;
  /** Absent: 5; negative keeps all tasks. */
  Orchestration?: { TaskHistoryRetentionLimit?: number | null };
  Raft?: {
    SnapshotInterval?: number;
    KeepOldSnapshots?: number | null;
    LogEntriesForSlowFollowers?: number;
    ElectionTick?: number;
    HeartbeatTick?: number;
  };
  Dispatcher?: { HeartbeatPeriod?: number };
  CAConfig?: {
    NodeCertExpiry?: number;
    ExternalCAs?: ExternalCa[] | null;
    /** PEM. Only given, never shown or stored here. */
    SigningCACert?: string;
    SigningCAKey?: string;
    /** Raised by clients that want a new root. */
    ForceRotate?: number;
  };
  TaskDefaults?: { LogDriver?: LogDriverSpec | null };
  EncryptionConfig?: { AutoLockManagers?: boolean };
}

/** The swarm as `/info` shows it on managers. */
export interface ClusterInfo extends ObjectHead {
  Spec: SwarmSpec;
  TLSInfo: TlsInfo;
  RootRotationInProgress: boolean;
  DefaultAddrPool: string[];
  SubnetSize: number;
  DataPathPort: number;
}

/** `GET /swarm`. */
export interface SwarmInspect extends ClusterInfo {
  JoinTokens: { Worker: string; Manager: string };
}

/** Body of POST /swarm/init. */
export interface SwarmInitRequest {
  ListenAddr?: string;
  AdvertiseAddr?: string;
  DataPathAddr?: string;
  DataPathPort?: number;
  ForceNewCluster?: boolean;
  Spec?: SwarmSpec;
  AutoLockManagers?: boolean;
  Availability?: string;
  DefaultAddrPool?: string[] | null;
  SubnetSize?: number;
}

/** Body of POST /swarm/join. */
export interface SwarmJoinRequest {
  ListenAddr?: string;
  AdvertiseAddr?: string;
  DataPathAddr?: string;
  RemoteAddrs?: string[] | null;
  JoinToken?: string;
  Availability?: string;
}

/** What `POST /swarm/update` does beside storing the specification. */
export interface SwarmUpdateFlags {
  rotateWorkerToken: boolean;
  rotateManagerToken: boolean;
  rotateManagerUnlockKey: boolean;
}

/** The block `Swarm` of `/info`. */
export interface SwarmInfo {
  NodeID: string;
  NodeAddr: string;
  LocalNodeState: 'inactive' | 'pending' | 'active' | 'error' | 'locked';
  ControlAvailable: boolean;
  Error: string;
  RemoteManagers: { NodeID: string; Addr: string }[] | null;
  /** Of managers only, as the rest. */
  Nodes?: number;
  Managers?: number;
  Cluster?: ClusterInfo;
  Warnings?: string[];
}
