/**
 * What membership gives to the parts of the swarm that run on a node, and asks of them. A node has an agent for as long
 * as it belongs to a swarm, and a manager part for as long as its certificate is a manager's.
 */
import type { SwarmSpec } from '../../api/types/swarm/swarm.ts';
import type { TlsInfo } from '../../api/types/swarm/node.ts';
import type { Clock } from '../../daemon/base/clock.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { AgentDeps, AgentPart } from '../agent/ports.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Managers, RootAuthority } from '../control/ports.ts';
import type { SwarmFacts } from '../dispatcher/ports.ts';
import type { LeaderLoop } from '../leader/ports.ts';
import type { Random } from '../objects/random.ts';
import type { Dial, Method } from '../rpc/port.ts';
import type { EtcdChannel } from '../store/etcd/channel.ts';
import type { EtcdMembers } from '../store/etcd/members.ts';
import type { HostInterface } from './addresses.ts';

export interface Tools {
  clock: Clock;
  logger: Logger;
  random: Random;
}

/** What a node is made with. */
export interface NodeDeps<P extends ManagerPart> extends Tools {
  /** Of this node: certificates, keys, the store's data. Kept over daemons until the node leaves. */
  dataDirectory: string;
  /** Root's alone, short (paths of sockets), on a tmpfs. */
  runDirectory: string;
  /** The program of the store. */
  etcd: string;
  hostname: string;
  /** Of this host, for addresses that nobody named; those of the kernel where it is left out. */
  interfaces?: () => readonly HostInterface[];
  /** A specification with all that was not said. Throws invalid_argument. */
  completeSpec: (spec: SwarmSpec) => SwarmSpec;
  startManager: (context: ManagerContext) => Promise<P>;
  startAgent: (context: AgentContext) => Promise<AgentPart>;
  /** Ends what an agent has left on this host, where none runs. What fails is logged, not thrown. */
  dropTasks: () => Promise<void>;
  /** Called when the node becomes something else to a swarm, or may have. */
  onChange?: () => void;
  /** The node is about to leave its swarm as a worker. */
  onWorkerLeaves?: () => Promise<void>;
}

/** What runs while this node is a manager. Disposal ends it. */
export interface ManagerPart extends AsyncDisposable {
  /** Lets another manager lead, and resolves when this one does not any more. */
  resign(): Promise<void>;
  /** The node is about to leave: takes out what would be lost with it. Throws what keeps it from leaving. */
  leaving(): Promise<void>;
  /** What stays on this host when the last manager leaves: `the images of the hub`; `''` = nothing. */
  readonly stays: string;
}

/** What a manager is made with beside what only its composition knows. */
export interface ManagerContext extends Tools {
  nodeId: string;
  clusterId: string;
  /** This manager for nodes: `HOST:PORT`. */
  addr: string;
  cluster: Cluster;
  /** Seals what is secret before it is written, by the name of its key in the store. */
  sealer: Sealer;
  members: EtcdMembers;
  /** The own member, for its upkeep. */
  channel: EtcdChannel;
  dial: Dial;
  /** Methods are answered from then on until it is disposed of. */
  serve(methods: readonly Method[]): Disposable;
  authority: RootAuthority;
  managers: Managers;
  facts: SwarmFacts;
  /** What membership does while this manager leads: roles of nodes, the change of a root. */
  loops: readonly LeaderLoop[];
}

export interface Sealer {
  seal(name: string, value: Buffer): Buffer;
  open(name: string, sealed: Buffer): Buffer;
}

/** What an agent is made with beside what only its composition knows. */
export interface AgentContext extends Omit<AgentDeps, 'executor' | 'stateDirectory'> {
  clusterId: string;
  /** For the node's description. The agent is told to reconnect when it changes. */
  tlsInfo(): TlsInfo;
}
