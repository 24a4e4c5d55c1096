import type { Write } from '../../../swarm/objects/parts.ts';
import { put } from '../../../swarm/objects/parts.ts';
import { TaskState } from '../../../swarm/objects/task-state.ts';
import type { TaskStatus } from '../../../swarm/objects/task.ts';
import { Planner } from '../../../swarm/planner/planner.ts';
import { ClusterState } from '../../../swarm/planner/state/cluster-state.ts';
import { slotOf, type Task } from '../../../swarm/planner/state/entries.ts';
import { observedState } from '../../../swarm/planner/state/observed.ts';
import { SeededRandom } from '../seeded-random.ts';
import { Scheduler } from '../../../swarm/planner/scheduler/scheduler.ts';

type Behaviour = (task: Task) => TaskState | undefined;

/** As nodes do that have no trouble: a task runs when it is let, and stops when it is told to. */
export const wellBehaved: Behaviour = ({ record }) => {
  if (record.desired === TaskState.ready) {
    return TaskState.ready;
  }
  return record.desired <= TaskState.complete ? record.desired : TaskState.shutdown;
};

/**
 * A cluster of a planner, a store that never fails, a clock moved by hand, and nodes that do with their tasks at once
 * what `behaviour` says.
 */
export class PlannedCluster {
  now = 1_000_000;
  state = new ClusterState();
  behaviour: Behaviour = wellBehaved;
  /** What the store has: what a new leader reads. */
  readonly stored = new Map<string, Write>();
  /** Every write of the planner, in order. */
  readonly written: Write[] = [];
  errors: { service: string; error: string }[] = [];
  #random = new SeededRandom(1);
  #planner = this.#newPlanner();
  #again: number | undefined;

  constructor(...writes: Write[][]) {
    this.lead();
    this.change(...writes.flat());
  }

  /** Another manager leads from here on: it knows what is stored and nothing else. */
  lead(): void {
    this.state = new ClusterState();
    for (const write of this.stored.values()) {
      this.state.apply(write);
    }
    this.#planner = this.#newPlanner();
    this.#planner.begin();
  }

  #newPlanner(): Planner {
    return new Planner(this.state, this.#random, new Scheduler(1));
  }

  /** Changes by users, nodes or hands in the store, then one pass. */
  change(...writes: Write[]): Write[] {
    for (const write of writes) {
      this.#store(write);
      this.#planner.observe(write);
    }
    return this.pass();
  }

  pass(): Write[] {
    const plan = this.#planner.plan(this.now);
    plan.writes.forEach((write) => this.#store(write));
    this.written.push(...plan.writes);
    this.errors.push(...plan.errors);
    this.#again = plan.again;
    return plan.writes;
  }

  #store(write: Write): void {
    const key = `${write.part}/${write.id}`;
    if (write.value === null) {
      this.stored.delete(key);
    } else {
      this.stored.set(key, write);
    }
  }

  report(id: string, state: TaskState, more: Partial<TaskStatus> = {}): Write[] {
    const before = this.state.tasks.get(id)?.status;
    const running = state === TaskState.running ? this.now : before?.running;
    return this.change(
      put('status', {
        id,
        state,
        at: this.now,
        message: '',
        ...(running === undefined ? {} : { running }),
        ...more,
      }),
    );
  }

  /** Nodes do what they are told until nothing changes any more; the time does not move. */
  settle(): this {
    for (let round = 0; round < 1000; round += 1) {
      const reports = [...this.state.tasks.values()].flatMap((task) => {
        const node = this.state.nodes.get(task.record.node ?? '');
        const state = node?.state?.state === 'ready' ? this.behaviour(task) : undefined;
        return state !== undefined && state > observedState(task) ? [{ id: task.id, state }] : [];
      });
      for (const { id, state } of reports) {
        if (this.state.tasks.has(id)) {
          this.report(id, state);
        }
      }
      const isDue = this.#again !== undefined && this.#again <= this.now;
      if (isDue) {
        this.pass();
      }
      if (reports.length === 0 && !isDue) {
        return this;
      }
    }
    throw new Error('the cluster does not settle');
  }

  /** Lets time pass, with all that the planner wants to do in it. */
  advance(ms: number): this {
    const end = this.now + ms;
    this.settle();
    while (this.#again !== undefined && this.#again <= end) {
      this.now = Math.max(this.now, this.#again);
      this.pass();
      this.settle();
    }
    this.now = end;
    return this;
  }

  /** All tasks of a service in the order in which they were made. */
  tasks(service: string): Task[] {
    return [...this.state.tasksOf(service)].toSorted(
      (a, b) => a.record.created - b.record.created || (slotOf(a.record) < slotOf(b.record) ? -1 : 1),
    );
  }

  /** Tasks that are wanted running or done. */
  wanted(service: string): Task[] {
    return this.tasks(service).filter(({ record }) => record.desired <= TaskState.complete);
  }

  /** `slot@node` of the tasks that run, in order. */
  running(service: string): string[] {
    return this.tasks(service)
      .filter((task) => observedState(task) === TaskState.running)
      .map(({ record }) => `${slotOf(record)}@${record.node ?? ''}`)
      .toSorted();
  }
}
