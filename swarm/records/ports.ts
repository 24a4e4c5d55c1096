import type { Leadership } from '../store/port.ts';
import type { SwarmRecords } from './swarm-records.ts';

/** What a manager's store is to a part of the engine that keeps records in it. */
export interface RecordsPlace {
  /** Ids of this node and of its swarm. */
  readonly node: string;
  readonly cluster: string;
  /** Records by the name of a set. Used until `closed`. */
  open(name: string): SwarmRecords;
  /** False for a node that was removed. */
  isNode(node: string): boolean;
  /**
   * Resolves when no other manager leads what has this name, and what earlier leaders wrote can be read here. Rejects
   * with `canceled` when the signal comes first.
   */
  lead(name: string, signal: AbortSignal): Promise<Leadership>;
}

/** Whether other managers have what is in the store: where nobody knows, no majority answers. */
export type OtherManagers = 'none' | 'some' | 'unknown';

/** A part of the engine that keeps records in the swarm for as long as this node is a manager. */
export interface RecordsGuest {
  /** This node is a manager whose store answers. Comes again only after `closed`. */
  opened(place: RecordsPlace): void;
  /**
   * The node is about to leave its swarm: what no other manager has is to be taken out of the store, which is gone
   * afterwards. Throws what keeps the node from leaving.
   */
  leaving(others: OtherManagers): Promise<void>;
  /** The node is about to leave its swarm as a worker. */
  leavingAsWorker?(): Promise<void>;
  /** What stays on this host when the last manager leaves: `the images of the hub`; `''` = nothing. */
  readonly stays?: string;
  /** No manager any more, or the daemon ends. Resolves when the records are not used. */
  closed(): Promise<void>;
  /** This node is something else to a swarm than before, or may be. */
  changed(): void;
}
