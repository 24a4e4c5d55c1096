/** Settings of a swarm: `SwarmSpec` of the wire at API 1.44. Types only. */

import type { StringMap } from '../maps.ts';
import type { LogDriverSpec } from './task.ts';

interface ExternalCa {
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
  CAConfig?: { NodeCertExpiry?: number; ExternalCAs?: ExternalCa[] | null; ForceRotate?: number };
  TaskDefaults?: { LogDriver?: LogDriverSpec | null };
  EncryptionConfig?: { AutoLockManagers?: boolean };
}
