import type { Dial } from '../rpc/port.ts';
import type { Clock } from '../../daemon/base/clock.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Random } from '../objects/random.ts';
import type { ManagerAddress, SessionMessage } from '../protocol/session.ts';

/** What of the swarm's facts may be another one now. */
export interface ChangedFact {
  topic: 'managers' | 'root';
  /** The node that it concerns; undefined = all of them. */
  node: string | undefined;
}

/** What a manager tells nodes of the swarm itself. */
export interface SwarmFacts {
  managers(): readonly ManagerAddress[];
  /** While the root changes, nodes are asked to renew their certificates some at a time. */
  rootFor(node: string): Extract<SessionMessage, { kind: 'root' }>;
  /** Called when one of them may answer differently. */
  subscribe(listener: (changed: ChangedFact) => void): Disposable;
}

export interface DispatcherDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  cluster: Cluster;
  facts: SwarmFacts;
  /** The value that is stored sealed under a key. Throws where it does not open. */
  unseal(key: string, sealed: Buffer): Buffer;
  /** To the leader, where this manager is asked for logs and does not lead. */
  dial: Dial;
}
