import { limits } from '../../../daemon/base/limits.ts';

/** The `Raft` block of a swarm's spec, as far as etcd can follow it. 0 or nothing means the default. */
export interface RaftSettings {
  /** Entries between two snapshots. */
  SnapshotInterval?: number;
  KeepOldSnapshots?: number;
  /** In ticks of 100 ms; dockerd's are a second, and no fail-over of its leader takes less. */
  HeartbeatTick?: number;
  ElectionTick?: number;
}

export interface PeerTls {
  certificateFile: string;
  keyFile: string;
  /** Of managers only: workers must not be able to get a certificate of it. */
  authorityFile: string;
  /** A DNS name that only certificates of managers have. */
  allowedHostname: string;
}

export interface MemberSettings {
  name: string;
  /** Absolute; etcd's alone. */
  dataDirectory: string;
  /** `https://10.0.0.1:2380`, as the other members reach it, and what it listens on. */
  peerUrl: string;
  listenPeerUrl: string;
  /** Without it the members talk plainly: in tests only. */
  peerTls?: PeerTls;
  raft: RaftSettings;
  /** Members of the cluster, this one among them: what a new one is begun with, or what this one joins. */
  cluster: { state: 'new' | 'existing'; token: string; peers: readonly { name: string; peerUrl: string }[] };
  /** Makes this member the only one, with all data kept. For one start. */
  forceNewCluster?: boolean;
}

/** What the client socket is called in etcd's working directory: it takes no path, and wants a port. */
export const SOCKET_NAME = 'etcd:1';

const TICK_MS = 100;
const HEARTBEAT_MS_MAX = 10_000;
/** etcd refuses less than five heartbeats, and more than this. */
const ELECTION_HEARTBEATS_MIN = 5;
const ELECTION_MS_MAX = 50_000;
/** Each entry between snapshots is held in memory, beside the 5,000 that etcd keeps for slow followers anyway. */
const SNAPSHOT_COUNT = { default: 10_000, min: 500, max: 20_000 };
/** One to start from, one that is being written. */
const SNAPSHOT_FILES_MIN = 2;
const SNAPSHOT_FILES_MAX = 100;
const LOG_FILES_MAX = 5;

/**
 * The command line of a member, without the program. There is no client port at all: the socket lies in a directory of
 * root's alone, so no certificate, however it was come by, opens the store to clients.
 */
export function etcdArguments(settings: MemberSettings): string[] {
  const { name, raft, cluster, peerTls } = settings;
  const clientUrl = `unix://${SOCKET_NAME}`;
  return [
    `--name=${name}`,
    `--data-dir=${settings.dataDirectory}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${settings.listenPeerUrl}`,
    `--initial-advertise-peer-urls=${settings.peerUrl}`,
    `--initial-cluster=${cluster.peers.map((peer) => `${peer.name}=${peer.peerUrl}`).join(',')}`,
    `--initial-cluster-state=${cluster.state}`,
    `--initial-cluster-token=${cluster.token}`,
    `--heartbeat-interval=${heartbeatMs(raft)}`,
    `--election-timeout=${electionMs(raft)}`,
    '--pre-vote',
    `--snapshot-count=${snapshotCount(raft)}`,
    `--max-snapshots=${snapshotFiles(raft)}`,
    `--max-wals=${LOG_FILES_MAX}`,
    `--max-txn-ops=${limits.swarmStoreCommitOperationsMax}`,
    '--auto-compaction-retention=0',
    '--strict-reconfig-check',
    '--logger=zap',
    '--log-level=warn',
    '--log-outputs=stderr',
    ...(peerTls === undefined ? [] : tlsArguments(peerTls)),
    ...(settings.forceNewCluster === true ? ['--force-new-cluster'] : []),
  ];
}

/** The role is a DNS name of the certificate; addresses change, so none is looked for. */
function tlsArguments(tls: PeerTls): string[] {
  return [
    `--peer-cert-file=${tls.certificateFile}`,
    `--peer-key-file=${tls.keyFile}`,
    `--peer-trusted-ca-file=${tls.authorityFile}`,
    '--peer-client-cert-auth',
    `--peer-cert-allowed-hostname=${tls.allowedHostname}`,
    '--experimental-peer-skip-client-san-verification',
  ];
}

function heartbeatMs({ HeartbeatTick }: RaftSettings): number {
  return clamp((HeartbeatTick || 1) * TICK_MS, TICK_MS, HEARTBEAT_MS_MAX);
}

function electionMs(raft: RaftSettings): number {
  return clamp(
    (raft.ElectionTick || 10) * TICK_MS,
    ELECTION_HEARTBEATS_MIN * heartbeatMs(raft),
    ELECTION_MS_MAX,
  );
}

function snapshotCount({ SnapshotInterval }: RaftSettings): number {
  return clamp(SnapshotInterval || SNAPSHOT_COUNT.default, SNAPSHOT_COUNT.min, SNAPSHOT_COUNT.max);
}

function snapshotFiles({ KeepOldSnapshots = 0 }: RaftSettings): number {
  return clamp(KeepOldSnapshots + SNAPSHOT_FILES_MIN, SNAPSHOT_FILES_MIN, SNAPSHOT_FILES_MAX);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
