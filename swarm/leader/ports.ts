import type { NodeState } from '../../api/types/swarm/node.ts';
import type { TaskStatus } from '../objects/task.ts';
import type { Cluster, ClusterCommit } from '../cluster/cluster.ts';
import type { ClusterState } from '../planner/state/cluster-state.ts';
import type { AttachmentDesk } from './attachments.ts';

/** What this manager has while it leads. All of it is thrown away with the leadership. */
export interface Leading {
  /** What is stored. */
  readonly cluster: Cluster;
  /** What is decided and known, ahead of the store. Read only. */
  readonly state: ClusterState;
  /** Aborted when this manager leads no more. */
  readonly signal: AbortSignal;
  /** Writes with the fence of this leadership. Throws `StoreError`: on `fenced` the leadership has ended with it. */
  commit(commit: Omit<ClusterCommit, 'fence'>): Promise<number>;
  /**
   * Takes what became of a task, at once, and stores what has to be stored. Answers false for what is no news: the
   * task is not known, or was known to be further.
   */
  report(status: ReportedStatus): boolean;
  /** What was reported last of a task and is not stored. */
  statusOf(task: string): TaskStatus | undefined;
  /** A state of a node that is known and not stored; undefined: the stored one counts again. */
  markNode(node: string, mark: NodeMark | undefined): void;
  markOf(node: string): NodeMark | undefined;
  /** Containers of nodes that are no tasks. */
  readonly attachments: AttachmentDesk;
}

/** A status without its times, which are the leader's. */
export type ReportedStatus = Omit<TaskStatus, 'at' | 'running'>;

export interface NodeMark {
  state: NodeState;
  message: string;
}

/** Work of the leader: begins when this manager is elected, ends when it leads no more. Failures are its own affair. */
export interface LeaderLoop {
  start(leading: Leading): AsyncDisposable;
}

/** This manager's way to lead and to hear who does. */
export interface Leadership extends AsyncDisposable {
  /** Undefined while another manager leads. */
  readonly leading: Leading | undefined;
  /** The manager that leads; undefined while none does. */
  readonly leader: { node: string; addr: string } | undefined;
  /** Lets another manager lead, and is a candidate again only after a while. */
  resign(): Promise<void>;
}
