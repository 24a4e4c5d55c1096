import { TaskState } from '../../objects/task-state.ts';
import type { ChangedPart } from '../../cluster/cluster.ts';
import type { Task } from '../../planner/state/entries.ts';
import { nowMs, type ControlContext } from '../context.ts';
import { taskName } from '../tasks/name.ts';

const STACK_LABEL = 'com.docker.stack.namespace';

/** What has become of a task. Every manager tells it. */
export interface TaskNews {
  id: string;
  /** `web.1.ID`, as its container is called. */
  name: string;
  /** Id of its service. */
  service: string;
  stack: string | undefined;
  stage: TaskStage;
  node: { id: string; name: string } | undefined;
  /** Why: what the scheduler or the node says. */
  error: string | undefined;
  exitCode: number | undefined;
  /** Milliseconds since 1970 UTC, the same on all managers. */
  at: number;
  /** This manager leads: the others need only tell what it does not. */
  isLeader: boolean;
}

export type TaskStage =
  | 'scheduled'
  | 'not-scheduled'
  | 'running'
  | 'complete'
  | 'stopped'
  | 'failed'
  | 'rejected'
  | 'orphaned';

export type TaskListener = (news: TaskNews) => void;

interface Deps extends Pick<ControlContext, 'cluster' | 'clock' | 'managers'> {
  nodeId: string;
  /** Must not throw. */
  told: TaskListener;
}

/** Of how far back it is told at a manager's start: what has happened while no manager was there. */
const TOLD_BACK_MS = 600_000;

const STAGES: Readonly<Partial<Record<TaskState, TaskStage>>> = {
  [TaskState.running]: 'running',
  [TaskState.complete]: 'complete',
  [TaskState.shutdown]: 'stopped',
  [TaskState.failed]: 'failed',
  [TaskState.rejected]: 'rejected',
  [TaskState.orphaned]: 'orphaned',
};

/** Tells what becomes of tasks, from what changes in this manager's view of the store: of each task each stage once. */
export class TaskReporter implements Disposable {
  readonly #deps: Deps;
  /** By task. */
  readonly #known = new Map<string, string>();
  readonly #subscription: Disposable;

  constructor(deps: Deps) {
    this.#deps = deps;
    const sinceMs = nowMs(deps) - TOLD_BACK_MS;
    for (const task of deps.cluster.state.tasks.values()) {
      const news = this.#take(task);
      if (news !== undefined && news.at >= sinceMs) {
        deps.told(news);
      }
    }
    this.#subscription = deps.cluster.subscribe((changed) => this.#onChanges(changed));
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #onChanges(changed: readonly ChangedPart[]): void {
    const { state } = this.#deps.cluster;
    for (const { write } of changed) {
      if (write.part === 'task' || write.part === 'status') {
        const task = state.tasks.get(write.id);
        const news = task && this.#take(task);
        if (task === undefined) {
          this.#known.delete(write.id);
        } else if (news !== undefined) {
          this.#deps.told(news);
        }
      }
    }
  }

  /** Undefined where it is what is known already, or nothing yet. */
  #take(task: Task): TaskNews | undefined {
    const { id, record, status } = task;
    const { cluster, managers, nodeId } = this.#deps;
    const reached = reachedBy(task);
    const known = reached && `${reached.stage} ${reached.error ?? ''}`;
    if (reached === undefined || this.#known.get(id) === known) {
      return undefined;
    }
    this.#known.set(id, known ?? '');
    const node = record.node ?? record.pinned;
    return {
      id,
      name: taskName(cluster, task),
      service: record.service,
      stack: cluster.state.services.get(record.service)?.record?.spec.Labels?.[STACK_LABEL],
      ...reached,
      node: node === undefined ? undefined : { id: node, name: this.#nameOf(node) },
      exitCode: status?.container?.exitCode,
      isLeader: managers.list().some((member) => member.isLeader && member.node === nodeId),
    };
  }

  #nameOf(id: string): string {
    const node = this.#deps.cluster.state.nodes.get(id);
    return node?.record?.spec.Name || node?.description?.Hostname || id;
  }
}

/** Undefined: nothing that anybody would want to hear of. Pure. */
function reachedBy({ record, status }: Task): Pick<TaskNews, 'stage' | 'error' | 'at'> | undefined {
  const stage = status && STAGES[status.state];
  if (status !== undefined && stage !== undefined) {
    return { stage, error: status.error, at: status.at };
  }
  if (record.node !== undefined) {
    return { stage: 'scheduled', error: undefined, at: record.updated };
  }
  const { refusal } = record;
  return refusal && { stage: 'not-scheduled', error: refusal.error, at: refusal.at };
}
