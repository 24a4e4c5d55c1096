import type { ExternalCa, SwarmSpec } from '../../../api/types/swarm/swarm.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import { formatDuration } from '../../../daemon/base/go/duration.ts';
import { rpcError } from '../base/rpc-error.ts';

const HOUR_NANOS = 3600e9;
const NAME = 'default';
const HISTORY = 5;
const RAFT = {
  SnapshotInterval: 10_000,
  KeepOldSnapshots: 0,
  LogEntriesForSlowFollowers: 500,
  HeartbeatTick: 1,
  ElectionTick: 10,
};
const HEARTBEAT_NANOS = 5e9;
const CERTIFICATE_NANOS = 2160 * HOUR_NANOS;
const CERTIFICATE_NANOS_MIN = HOUR_NANOS;

/**
 * A swarm's specification as it is stored, at init and at each update: what was sent, with the default wherever nothing
 * or 0 was sent and 0 would stop the swarm. Keys of a root never stay in it. Throws invalid_argument. Pure.
 */
export function completeSwarmSpec(sent: SwarmSpec): SwarmSpec {
  const spec = withDefaults(sent);
  checkSwarmSpec(spec);
  return spec;
}

function withDefaults({ Raft: raft = {}, CAConfig: ca = {}, ...sent }: SwarmSpec): SwarmSpec {
  const { SigningCACert: _cert, SigningCAKey: _key, ExternalCAs: externals, ...restOfCa } = ca;
  return {
    Name: sent.Name || NAME,
    Labels: sent.Labels ?? {},
    Orchestration: { TaskHistoryRetentionLimit: sent.Orchestration?.TaskHistoryRetentionLimit ?? HISTORY },
    Raft: {
      SnapshotInterval: raft.SnapshotInterval || RAFT.SnapshotInterval,
      KeepOldSnapshots: raft.KeepOldSnapshots ?? RAFT.KeepOldSnapshots,
      LogEntriesForSlowFollowers: raft.LogEntriesForSlowFollowers || RAFT.LogEntriesForSlowFollowers,
      ElectionTick: raft.ElectionTick || RAFT.ElectionTick,
      HeartbeatTick: raft.HeartbeatTick || RAFT.HeartbeatTick,
    },
    Dispatcher: { HeartbeatPeriod: sent.Dispatcher?.HeartbeatPeriod || HEARTBEAT_NANOS },
    CAConfig: {
      ...restOfCa,
      NodeCertExpiry: ca.NodeCertExpiry || CERTIFICATE_NANOS,
      ...(externals && externals.length > 0 ? { ExternalCAs: externals.map(normaliseExternal) } : {}),
    },
    TaskDefaults: sent.TaskDefaults ?? {},
    EncryptionConfig: { AutoLockManagers: sent.EncryptionConfig?.AutoLockManagers ?? false },
  };
}

function normaliseExternal(external: ExternalCa): ExternalCa {
  const protocol = external.Protocol ?? '';
  if (protocol !== '' && protocol.toLowerCase() !== 'cfssl') {
    throw invalidArgument(`invalid protocol: ${JSON.stringify(protocol)}`);
  }
  return { ...external, Protocol: 'cfssl' };
}

/** The first two are read by dockerd itself, and have no prefix. */
function checkSwarmSpec(spec: SwarmSpec): void {
  if (spec.Name !== NAME) {
    throw invalidArgument(`swarm spec must be named "${NAME}"`);
  }
  if ((spec.Raft?.ElectionTick ?? 0) <= (spec.Raft?.HeartbeatTick ?? 0)) {
    throw invalidArgument('Raft.ElectionTick must be greater than Raft.HeartbeatTick');
  }
  if ((spec.CAConfig?.NodeCertExpiry ?? 0) < CERTIFICATE_NANOS_MIN) {
    throw rpcError(
      'InvalidArgument',
      `minimum certificate expiry time is: ${formatDuration(CERTIFICATE_NANOS_MIN)}`,
    );
  }
  if ((spec.Dispatcher?.HeartbeatPeriod ?? 0) < 0) {
    throw rpcError('InvalidArgument', 'heartbeat time period cannot be a negative duration');
  }
}
