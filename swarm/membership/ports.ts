/**
 * What membership gives to the parts of the swarm that run on a node, and asks of them. A node has an agent for as long
 * as it belongs to a swarm, and a manager part for as long as its certificate is a manager's.
 */
import type { TlsInfo } from '../../api/types/swarm/node.ts';
import type { Clock } from '../../daemon/base/clock.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { RootState } from '../ca/roots/root.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Random } from '../objects/random.ts';
import type { ManagerAddress, SessionMessage } from '../protocol/session.ts';
import type { Dial, Method } from '../rpc/port.ts';
import type { EtcdChannel } from '../store/etcd/channel.ts';
import type { EtcdMembers } from '../store/etcd/members.ts';
import type { Fence, Write } from '../store/port.ts';

interface Tools {
  clock: Clock;
  logger: Logger;
  random: Random;
}

/** Makes what a manager consists of beside its store and its trust. */
export type StartManager<P extends AsyncDisposable> = (context: ManagerContext) => Promise<P>;

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
  authority: Authority;
  /** Starts what membership does while this manager leads: roles of nodes, and the change of a root. */
  lead(fence: Fence): AsyncDisposable;
}

export interface Sealer {
  seal(name: string, value: Buffer): Buffer;
  open(name: string, sealed: Buffer): Buffer;
}

/** The swarm's root as this manager knows it, from memory. */
export interface Authority {
  /** Tokens included; the key as well, so nothing of it is for clients as it is. */
  root(): RootState;
  tlsInfo(): TlsInfo;
  /** What a node is told of the root: while it changes, nodes are asked to renew their certificates some at a time. */
  rootFor(node: string): Extract<SessionMessage, { kind: 'root' }>;
  /** To be written where a node is removed, with it: its certificate is not taken any more. */
  removalOf(node: string): readonly Write[];
  /** Called when any of these may answer differently. */
  subscribe(listener: () => void): Disposable;
}

export type StartAgent = (context: AgentContext) => Promise<AgentPart>;

export interface AgentContext extends Tools {
  node: { id: string; hostname: string };
  clusterId: string;
  /** Where other nodes reach this one: an address without port. */
  addr: string;
  dial: Dial;
  /** Managers as last told, also before a restart. Never empty. */
  managers(): readonly ManagerAddress[];
  /** For the node's description. */
  tlsInfo(): TlsInfo;
  onManagers(managers: readonly ManagerAddress[]): void;
  onRole(role: 'worker' | 'manager'): void;
  onRoot(root: Extract<SessionMessage, { kind: 'root' }>): void;
}

export interface AgentPart extends AsyncDisposable {
  /** `tlsInfo` has changed: the managers wait for a node to say so. */
  describe(): void;
  /** The node leaves the swarm: stops and removes all of its tasks. Disposed of after it. */
  removeTasks(): Promise<void>;
}
