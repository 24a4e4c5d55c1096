import { expect, test } from 'vitest';
import { etcdArguments } from '../../../../swarm/store/etcd-process/settings.ts';
import type { MemberSettings, RaftSettings } from '../../../../swarm/store/etcd-process/settings.ts';

const member: MemberSettings = {
  name: 'one',
  dataDirectory: '/data',
  peerUrl: 'https://10.0.0.1:2380',
  listenPeerUrl: 'https://0.0.0.0:2380',
  raft: {},
  cluster: {
    state: 'existing',
    token: 'cluster-1',
    peers: [
      { name: 'one', peerUrl: 'https://10.0.0.1:2380' },
      { name: 'two', peerUrl: 'https://10.0.0.2:2380' },
    ],
  },
};

const RAFT_ROWS: [RaftSettings, string[]][] = [
  [{}, ['heartbeat-interval=100', 'election-timeout=1000', 'snapshot-count=10000', 'max-snapshots=2']],
  [
    { HeartbeatTick: 0, ElectionTick: 0, SnapshotInterval: 0, KeepOldSnapshots: 0 },
    ['heartbeat-interval=100', 'election-timeout=1000', 'snapshot-count=10000', 'max-snapshots=2'],
  ],
  [
    { HeartbeatTick: 3, ElectionTick: 4, SnapshotInterval: 10, KeepOldSnapshots: 3 },
    ['heartbeat-interval=300', 'election-timeout=1500', 'snapshot-count=500', 'max-snapshots=5'],
  ],
  [
    { HeartbeatTick: 1e6, ElectionTick: 1e6, SnapshotInterval: 1e6, KeepOldSnapshots: 1e6 },
    ['heartbeat-interval=10000', 'election-timeout=50000', 'snapshot-count=20000', 'max-snapshots=100'],
  ],
];

test.each(RAFT_ROWS)('settings: %o is what etcd takes of it', (raft, expected) => {
  const given = etcdArguments({ ...member, raft });
  expect(expected.filter((argument) => !given.includes(`--${argument}`))).toEqual([]);
});

test('settings: clients have a unix socket alone, the others are the peers', () => {
  const given = etcdArguments(member);
  expect(given.filter((argument) => argument.includes('client'))).toEqual([
    '--listen-client-urls=unix://etcd:1',
    '--advertise-client-urls=unix://etcd:1',
  ]);
  expect(given).toContain('--initial-cluster=one=https://10.0.0.1:2380,two=https://10.0.0.2:2380');
  expect(given).not.toContain('--force-new-cluster');
  expect(etcdArguments({ ...member, forceNewCluster: true })).toContain('--force-new-cluster');
});

test('settings: peers must have a certificate of the managers, with their name', () => {
  const given = etcdArguments({
    ...member,
    peerTls: { certificateFile: '/c', keyFile: '/k', authorityFile: '/a', allowedHostname: 'swarm-manager' },
  });
  expect(given.filter((argument) => argument.includes('peer-c') || argument.includes('peer-t'))).toEqual([
    '--peer-cert-file=/c',
    '--peer-trusted-ca-file=/a',
    '--peer-client-cert-auth',
    '--peer-cert-allowed-hostname=swarm-manager',
  ]);
});
