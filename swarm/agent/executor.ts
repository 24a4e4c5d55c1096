import type { NodeDescription } from '../../api/types/swarm/node.ts';
import type { PortConfig } from '../../api/types/swarm/service.ts';
import type { AttachedContainer } from '../protocol/attachments.ts';
import type { NetworksChange } from '../protocol/networks.ts';
import type { AssignedTask, LogLine, LogSubscription } from '../protocol/session.ts';

/**
 * What the agent needs of the engine that it runs tasks with. Every step is idempotent: after a crash the agent calls
 * it again. A step that throws `unavailable` or `deadline_exceeded` is tried again with a back-off, anything else ends
 * the task with the error's message.
 */
export interface Executor {
  /** The node as it is now. Cheap: it is asked every 20 s. */
  describe(): Promise<NodeDescription>;
  /** What this host's interfaces and its own networks are in, `ADDRESS/LENGTH`, in an order that stays. As cheap. */
  subnets(): Promise<string[]>;
  /**
   * Networks of swarm scope as they are from now on; called in order, and again with all after each new session. What
   * fails in the kernel is told by the steps of the tasks that need it.
   */
  networks(change: NetworksChange): Promise<void>;
  /**
   * Containers of this host that are no tasks, in networks of the swarm: all that were let in by `SwarmNetworks.attach`
   * and not detached. Those of an earlier daemon are waited for. A container is none any more before `detach` is called
   * for it.
   */
  attachments(): Promise<readonly AttachedContainer[]>;
  /** Pulls and creates: after it the container is there, not started. Answers its id. */
  prepare(task: TaskToRun, signal: AbortSignal): Promise<string>;
  /**
   * Starts it and, with a health check, waits until it is healthy for the first time. One that has been started is not
   * started again. Answers its end where it ended meanwhile, or became unhealthy (then it is stopped first).
   */
  start(task: TaskToRun, signal: AbortSignal): Promise<RunningTask | TaskEnd>;
  /** Resolves when the container has ended or has become unhealthy (then it is stopped first). */
  wait(task: AssignedTask, signal: AbortSignal): Promise<TaskEnd>;
  /** Stops with the service's grace period, then kills. Nothing there is no error. */
  stop(task: AssignedTask): Promise<TaskEnd | undefined>;
  /** Removes the container with its anonymous volumes. Nothing there is no error. */
  remove(taskId: string): Promise<void>;
  /** Tasks whose containers are there, whatever their state: what is left of an earlier life of the daemon. */
  leftovers(): Promise<string[]>;
  /** Lines of the tasks' containers; ends when they have ended or, without follow, at the end of what is there. */
  logs(subscription: LogSubscription, signal: AbortSignal): AsyncIterable<LogLine>;
}

/** A task with what it needs at hand: its specification and the data of secrets and configs, templates expanded. */
export interface TaskToRun extends AssignedTask {
  /** `SERVICE.SLOT.TASK`, or with the node's id where it has no slot. */
  name: string;
  node: string;
  /** As they go into the files, by id. */
  secrets: ReadonlyMap<string, Buffer>;
  configs: ReadonlyMap<string, Buffer>;
}

export interface RunningTask {
  container: string;
  pid: number;
  /** Host ports as they came out, those that the node chose included. */
  ports: PortConfig[];
}

export interface TaskEnd {
  container: string;
  exitCode: number;
  /** Why it failed, beyond its exit code: `dockerexec: unhealthy container`. */
  cause?: string;
}
