import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import type { TaskSpec } from '../../../api/types/swarm/task.ts';
import { put, type Write } from '../../../swarm/objects/parts.ts';
import type { TaskRecord } from '../../../swarm/objects/task.ts';
import { Scheduler } from '../../../swarm/planner/scheduler/scheduler.ts';
import { ClusterState } from '../../../swarm/planner/state/cluster-state.ts';
import { observedState } from '../../../swarm/planner/state/observed.ts';
import { TaskState } from '../../../swarm/objects/task-state.ts';
import { serviceWrites, taskRecord, taskStatus } from './builders.ts';

/** A cluster in memory whose waiting tasks a scheduler gives nodes to: each plan is applied at once. */
export class ScheduledCluster {
  readonly state = new ClusterState();
  readonly scheduler: Scheduler;
  now = 1_000_000;

  constructor(seed = 1) {
    this.scheduler = new Scheduler(seed);
  }

  apply(...writes: Write[]): void {
    for (const write of writes) {
      this.state.apply(write);
    }
  }

  /** A service with this template and so many tasks that wait, in slots after `firstSlot`. */
  service(id: string, tasks: number, template: TaskSpec = {}, spec: ServiceSpec = {}): void {
    this.apply(...serviceWrites(id, { TaskTemplate: template, ...spec }));
    this.wait(id, tasks);
  }

  /** More tasks of a service that wait for nodes. */
  wait(service: string, tasks: number, more: Partial<TaskRecord> = {}): void {
    const first = this.state.tasksOf(service).size + 1;
    for (let slot = first; slot < first + tasks; slot += 1) {
      this.apply(put('task', taskRecord(`${service}${slot}`, service, { slot, created: this.now, ...more })));
    }
  }

  /** Tasks that run on nodes already. */
  running(service: string, node: string, tasks: number): void {
    const first = this.state.tasksOf(service).size + 1;
    for (let slot = first; slot < first + tasks; slot += 1) {
      this.apply(put('task', taskRecord(`${service}${slot}`, service, { slot, node })));
      this.report(`${service}${slot}`, TaskState.running);
    }
  }

  report(task: string, state: TaskState, at = this.now): void {
    this.apply(put('status', taskStatus(task, state, at)));
  }

  change(task: string, change: Partial<TaskRecord>): void {
    const record = this.state.tasks.get(task)?.record;
    if (record !== undefined) {
      this.apply(put('task', { ...record, ...change }));
    }
  }

  plan(): Write[] {
    const writes = this.scheduler.plan(this.state, this.now);
    this.apply(...writes);
    return writes;
  }

  nodeOf(task: string): string | undefined {
    return this.state.tasks.get(task)?.record.node;
  }

  errorOf(task: string): string | undefined {
    return this.state.tasks.get(task)?.record.refusal?.error;
  }

  /** Live tasks of a service by node: `a:2 b:1`. */
  spread(service: string): string {
    const counts = new Map<string, number>();
    for (const task of this.state.tasksOf(service)) {
      const { node } = task.record;
      if (node !== undefined && observedState(task) <= TaskState.running) {
        counts.set(node, (counts.get(node) ?? 0) + 1);
      }
    }
    return [...counts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([node, count]) => `${node}:${count}`)
      .join(' ');
  }
}
