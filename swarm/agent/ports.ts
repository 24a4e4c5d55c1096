import type { SwarmNetworks } from '../../api/types/swarm/networks.ts';
import type { NodeSpec, TlsInfo } from '../../api/types/swarm/node.ts';
import type { Clock } from '../../daemon/base/clock.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Random } from '../objects/random.ts';
import type { ManagerAddress, SessionMessage } from '../protocol/session.ts';
import type { Dial } from '../rpc/port.ts';
import type { Executor } from './executor.ts';

/** What an agent is made with. */
export interface AgentDeps {
  executor: Executor;
  /** With this node's certificate as it is at that moment. */
  dial: Dial;
  /** Managers as they are known now, this node among them where it is one. Asked before every attempt. */
  managers(): readonly ManagerAddress[];
  clock: Clock;
  logger: Logger;
  random: Random;
  /** The agent's own directory: it is made where it is missing, and kept over daemons until `leave`. */
  stateDirectory: string;
  node: { id: string; hostname: string };
  /** Where other nodes reach this one; empty: where its calls come from. */
  addr: string;
  /** Where overlay traffic reaches it; empty: at `addr`. */
  dataAddr: string;
  /** For the node's description. */
  tlsInfo(): TlsInfo;
  /** The user's wish for this node and the role that its certificate shall have, at each session and each change. */
  onNode(message: NodeWish): void;
  /** What nodes trust, at each session and each change. */
  onRoot(message: TrustedRoot): void;
  /** All managers, at each session and each change. Keep them: they are asked for by `managers()` after a restart. */
  onManagers(managers: readonly ManagerAddress[]): void;
}

export interface NodeWish {
  spec: NodeSpec;
  role: 'worker' | 'manager';
}

export type TrustedRoot = Omit<Extract<SessionMessage, { kind: 'root' }>, 'kind'>;

/** Containers of this host, no tasks, in networks of the swarm. */
export type NodeNetworks = Pick<SwarmNetworks, 'attach' | 'detach'>;

/** The agent of a node that belongs to a swarm. Disposal ends the session; tasks run on. */
export interface AgentPart extends AsyncDisposable {
  /** Why there is no session with a leader now; undefined while there is one. */
  readonly trouble: string | undefined;
  readonly networks: NodeNetworks;
  /** Ends the session and makes another one at once: the certificate or the managers have changed. */
  reconnect(): void;
  /** The node leaves the swarm: ends the session and all tasks, removes their containers and the agent's directory. */
  leave(): Promise<void>;
}
