import { describe, expect, test } from 'vitest';
import type { SwarmSpec } from '../../../../api/types/swarm/swarm.ts';
import { invalidArgument } from '../../../../daemon/base/errors.ts';
import { completeSwarmSpec } from '../../../../swarm/control/swarm/spec.ts';
import { CLUSTER_ID, controlRig, type ControlRig } from '../../../support/swarm/control-rig.ts';

const NO_FLAGS = { rotateWorkerToken: false, rotateManagerToken: false, rotateManagerUnlockKey: false };

const DEFAULTS: SwarmSpec = {
  Name: 'default',
  Labels: {},
  Orchestration: { TaskHistoryRetentionLimit: 5 },
  Raft: {
    SnapshotInterval: 10_000,
    KeepOldSnapshots: 0,
    LogEntriesForSlowFollowers: 500,
    ElectionTick: 10,
    HeartbeatTick: 1,
  },
  Dispatcher: { HeartbeatPeriod: 5e9 },
  CAConfig: { NodeCertExpiry: 7_776_000_000_000_000 },
  TaskDefaults: {},
  EncryptionConfig: { AutoLockManagers: false },
};

async function update({ control }: ControlRig, spec: SwarmSpec, flags = {}): Promise<void> {
  const { Version } = await control.inspect();
  await control.update(Version.Index ?? 0, spec, { ...NO_FLAGS, ...flags });
}

test('inspect: a new swarm has every default, and its tokens', async () => {
  const { control, context } = await controlRig();
  expect(await control.inspect()).toEqual({
    ID: CLUSTER_ID,
    Version: { Index: context.cluster.revision },
    CreatedAt: '1970-01-01T00:00:00.001Z',
    UpdatedAt: '1970-01-01T00:00:00.001Z',
    Spec: DEFAULTS,
    TLSInfo: { TrustRoot: 'PEM' },
    RootRotationInProgress: false,
    DefaultAddrPool: ['10.0.0.0/8'],
    SubnetSize: 24,
    DataPathPort: 4789,
    JoinTokens: { Worker: 'SWMTKN-1-w', Manager: 'SWMTKN-1-m' },
  });
  expect(control.facts()).toMatchObject({ Nodes: 0, Managers: 0, Cluster: { ID: CLUSTER_ID } });
  expect(control.facts().Cluster).not.toHaveProperty('JoinTokens');
});

test('completeSwarmSpec: what would stop the swarm is read as not said', () => {
  expect(completeSwarmSpec({})).toEqual(DEFAULTS);
  expect(
    completeSwarmSpec({
      Raft: { SnapshotInterval: 0, HeartbeatTick: 0, ElectionTick: 0 },
      Dispatcher: { HeartbeatPeriod: 0 },
      CAConfig: { NodeCertExpiry: 0 },
    }),
  ).toEqual(DEFAULTS);
});

test('completeSwarmSpec: every field is kept, keys of a root are not', () => {
  const spec: SwarmSpec = {
    Name: 'default',
    Labels: { a: 'b' },
    Orchestration: { TaskHistoryRetentionLimit: 0 },
    Raft: {
      SnapshotInterval: 1,
      KeepOldSnapshots: 2,
      LogEntriesForSlowFollowers: 3,
      ElectionTick: 5,
      HeartbeatTick: 4,
    },
    Dispatcher: { HeartbeatPeriod: 6 },
    CAConfig: {
      NodeCertExpiry: 3_600_000_000_000,
      ExternalCAs: [{ Protocol: 'cfssl', URL: 'https://ca', Options: { a: 'b' }, CACert: 'PEM' }],
      ForceRotate: 7,
    },
    TaskDefaults: { LogDriver: { Name: 'none' } },
    EncryptionConfig: { AutoLockManagers: true },
  };
  const sent = { ...spec, CAConfig: { ...spec.CAConfig, SigningCACert: 'c', SigningCAKey: 'k' } };
  expect(completeSwarmSpec(sent)).toEqual(spec);
});

test.each<[spec: SwarmSpec, message: string]>([
  [{ Name: 'x' }, 'swarm spec must be named "default"'],
  [{ CAConfig: { ExternalCAs: [{ Protocol: 'x' }] } }, 'invalid protocol: "x"'],
  [
    { CAConfig: { NodeCertExpiry: 1 } },
    'rpc error: code = InvalidArgument desc = minimum certificate expiry time is: 1h0m0s',
  ],
  [
    { Dispatcher: { HeartbeatPeriod: -1 } },
    'rpc error: code = InvalidArgument desc = heartbeat time period cannot be a negative duration',
  ],
  [
    { Raft: { ElectionTick: 3, HeartbeatTick: 3 } },
    'Raft.ElectionTick must be greater than Raft.HeartbeatTick',
  ],
])('update: refuses %j', async (spec, message) => {
  const rig = await controlRig();
  await expect(update(rig, spec)).rejects.toMatchObject({ code: 'invalid_argument', message });
  expect(rig.rootChanges).toEqual([]);
});

describe('update', () => {
  test('replaces the specification on the version that was read', async () => {
    const rig = await controlRig();
    await update(rig, { Labels: { a: 'b' } });
    expect((await rig.control.inspect()).Spec.Labels).toEqual({ a: 'b' });
    await update(rig, {});
    expect((await rig.control.inspect()).Spec.Labels).toEqual({});
    await expect(rig.control.update(1, {}, NO_FLAGS)).rejects.toThrow(
      'rpc error: code = Unknown desc = update out of sequence',
    );
  });

  test('hands on what concerns the root, with keys that are not stored', async () => {
    const rig = await controlRig();
    await update(
      rig,
      {
        CAConfig: {
          SigningCACert: 'c',
          SigningCAKey: 'k',
          ForceRotate: 2,
          ExternalCAs: [{ URL: 'https://ca', CACert: 'p' }],
        },
        EncryptionConfig: { AutoLockManagers: true },
      },
      { rotateWorkerToken: true, rotateManagerUnlockKey: true },
    );
    expect(rig.rootChanges).toEqual([
      {
        wish: {
          signingCertPem: 'c',
          signingKeyPem: 'k',
          forceRotate: 2,
          externals: [{ url: 'https://ca', certPem: 'p' }],
        },
        rotateWorkerToken: true,
        rotateManagerToken: false,
        rotateUnlockKey: true,
        autoLock: true,
      },
    ]);
  });

  test('a root that is refused leaves the specification as it was', async () => {
    const rig = await controlRig();
    rig.context.root.prepare = () => Promise.reject(invalidArgument('CA certificate expires too soon'));
    await expect(update(rig, { Labels: { a: 'b' } })).rejects.toThrow(
      'rpc error: code = InvalidArgument desc = CA certificate expires too soon',
    );
    expect((await rig.control.inspect()).Spec.Labels).toEqual({});
  });
});

test('facts: two managers are warned of', async () => {
  const member = { addr: 'a:1', isLeader: false, reachability: 'reachable' as const };
  const list = () => ['m1', 'm2'].map((node) => ({ ...member, node }));
  const { control } = await controlRig({ managers: { list } });
  expect(control.facts().Warnings?.[0]).toMatch(/^WARNING: Running Swarm in a two-manager configuration\./);
});
