import { TaskState } from '../../swarm/objects/task-state.ts';
import type { AssignedTask, Assignments, SessionMessage } from '../../swarm/protocol/session.ts';
import { NodeNetworks } from './node-networks.ts';
import { NodeSession } from './node-session.ts';
import type { Manager, Member, World } from './world.ts';

interface RunningTask {
  id: string;
  desired: TaskState;
  state: TaskState;
  image: string;
  /** What the leader has acknowledged. */
  told: TaskState;
  isStepping: boolean;
  isReporting: boolean;
  /** The leader does not know it any more: it is stopped and forgotten. */
  isForgotten: boolean;
}

const REPORT_RETRY_MS = 2_000;

/** How long it takes to get into a state. */
const DELAYS_MS = new Map<TaskState, readonly [from: number, to: number]>([
  [TaskState.ready, [50, 2_000]],
  [TaskState.shutdown, [10, 3_000]],
  [TaskState.complete, [1_000, 20_000]],
  [TaskState.failed, [1_000, 20_000]],
]);

/** A node's address for others. */
export function hostOf(node: string): string {
  return `host-${node}`;
}

/** A node: does what it is told with delays, and reports what became of it. Its tasks outlive its sessions. */
export class SimulatedNode implements Member {
  readonly id: string;
  readonly tasks = new Map<string, RunningTask>();
  isUp = true;
  /** How many times slower than others. */
  slowness = 1;
  readonly networks: NodeNetworks;
  readonly #world: World;
  #session: NodeSession | undefined;
  #isDialling = false;

  constructor(world: World, id: string) {
    this.#world = world;
    this.id = id;
    this.networks = new NodeNetworks(world, id);
  }

  /** Ids of the tasks that really run. */
  get running(): string[] {
    return [...this.tasks.values()]
      .filter(({ state }) => state <= TaskState.running && state >= TaskState.starting)
      .map(({ id }) => id);
  }

  hasEnded(task: string): boolean {
    return (this.tasks.get(task)?.state ?? TaskState.new) > TaskState.running;
  }

  /** Looks for the leader until it is found, or the node is gone. */
  dial(withinMs: number): void {
    this.#session?.end();
    this.#session = undefined;
    if (this.#isDialling || !this.isUp) {
      return;
    }
    this.#isDialling = true;
    this.#world.queue.after(this.#world.between(0, withinMs), () => {
      this.#isDialling = false;
      if (!this.isUp || this.#world.nodes.get(this.id) !== this) {
        return;
      }
      const { managers, leader } = this.#world;
      const manager = this.#world.happens(0.1) ? managers[this.#world.random.below(managers.length)] : leader;
      if (manager === undefined) {
        this.dial(3_000);
        return;
      }
      this.#open(manager);
    });
  }

  #open(manager: Manager): void {
    const node = { id: this.id, addr: hostOf(this.id) };
    const session: NodeSession = new NodeSession(this.#world, node, manager, {
      hear: (message) => this.#hear(session, message),
      over: () => {
        if (this.#session === session) {
          this.dial(2_000);
        }
      },
    });
    this.#session = session;
    session.begin();
  }

  #hear(session: NodeSession, message: SessionMessage): void {
    if (message.kind === 'welcome') {
      for (const task of this.tasks.values()) {
        task.told = TaskState.new;
        this.#report(task);
      }
      this.networks.opened(session.open);
    }
    if (message.kind !== 'assignments' && message.kind !== 'networks') {
      return;
    }
    if (this.#world.happens(0.002)) {
      this.#world.note(`node ${this.id}: a message is lost, the session begins anew`);
      this.dial(5_000);
      return;
    }
    session.inOrder(this.#world.between(1, 40) * this.slowness, () => {
      if (this.isUp && this.#session === session) {
        if (message.kind === 'networks') {
          this.networks.take(message.change);
        } else {
          this.#apply(message.assignments);
        }
      }
    });
  }

  #apply({ full, tasks, removedTasks }: Assignments): void {
    const named = new Set(tasks.map(({ id }) => id));
    for (const task of this.tasks.values()) {
      if (full ? !named.has(task.id) : removedTasks.includes(task.id)) {
        this.#forget(task);
      }
    }
    tasks.forEach((task) => this.#take(task));
  }

  /** Off, with all that runs. */
  crash(): void {
    this.isUp = false;
    this.networks.crash();
    this.#session?.end();
    this.#session = undefined;
    for (const task of this.tasks.values()) {
      if (task.state >= TaskState.starting && task.state <= TaskState.running) {
        task.state = TaskState.failed;
      }
    }
  }

  boot(): void {
    if (!this.isUp) {
      this.isUp = true;
      this.dial(2_000);
      this.tasks.forEach((task) => this.#step(task));
    }
  }

  #take(record: AssignedTask): void {
    let task = this.tasks.get(record.id);
    if (task === undefined) {
      task = {
        id: record.id,
        desired: record.desired,
        state: TaskState.assigned,
        told: TaskState.assigned,
        image: record.spec.ContainerSpec?.Image ?? '',
        isStepping: false,
        isReporting: false,
        isForgotten: false,
      };
      this.tasks.set(record.id, task);
    }
    // Messages may overtake each other: wishes never go back.
    task.desired = task.desired > record.desired ? task.desired : record.desired;
    this.#step(task);
  }

  #forget(task: RunningTask): void {
    task.isForgotten = true;
    task.desired = TaskState.remove;
    this.#step(task);
  }

  /** One state further, after a while, until the wish is reached. */
  #step(task: RunningTask): void {
    if (task.isForgotten && task.state > TaskState.running) {
      this.tasks.delete(task.id);
      return;
    }
    const next = this.#next(task);
    if (task.isStepping || next === undefined || !this.isUp) {
      return;
    }
    task.isStepping = true;
    this.#world.queue.after(this.#delay(next) * this.slowness, () => {
      task.isStepping = false;
      if (!this.isUp) {
        return;
      }
      // Decided anew: another wish may have come meanwhile.
      const state = this.#next(task);
      if (state === next) {
        task.state = this.#outcome(task, state);
        this.#report(task);
      }
      this.#step(task);
    });
  }

  #next({ desired, state, image }: RunningTask): TaskState | undefined {
    if (state > TaskState.running) {
      return undefined;
    }
    if (desired > TaskState.complete) {
      return TaskState.shutdown;
    }
    if (state < TaskState.ready) {
      return TaskState.ready;
    }
    if (desired === TaskState.ready) {
      return undefined;
    }
    if (state < TaskState.running) {
      return TaskState.running;
    }
    if (desired === TaskState.complete) {
      return TaskState.complete;
    }
    return image.startsWith('short') && !this.#world.isCalm ? TaskState.failed : undefined;
  }

  #delay(next: TaskState): number {
    const [from, to] = DELAYS_MS.get(next) ?? [20, 500];
    return this.#world.between(from, to);
  }

  #outcome({ image }: RunningTask, state: TaskState): TaskState {
    const fails = image.startsWith('bad') ? 1 : 0.01;
    const begins = state === TaskState.running || state === TaskState.ready;
    return begins && this.#world.happens(fails)
      ? state === TaskState.ready
        ? TaskState.rejected
        : TaskState.failed
      : state;
  }

  /** Until the leader has heard it. */
  #report(task: RunningTask): void {
    if (task.isReporting || task.told >= task.state) {
      return;
    }
    task.isReporting = true;
    this.#world.queue.after(this.#world.between(1, 100) * this.slowness, () => {
      const { state } = task;
      const session = this.#session;
      const isLost = !this.isUp || session === undefined || this.#world.happens(0.01);
      const said = isLost
        ? Promise.resolve(false)
        : session.report([{ id: task.id, state, message: '', ...reasonOf(state) }]);
      if (!isLost && this.#world.happens(0.01)) {
        void session.report([{ id: task.id, state, message: '', ...reasonOf(state) }]);
      }
      void said.then((isHeard) => this.#reported(task, isHeard ? state : undefined));
    });
  }

  #reported(task: RunningTask, state: TaskState | undefined): void {
    task.isReporting = false;
    if (state !== undefined) {
      task.told = state > task.told ? state : task.told;
      this.#report(task);
    } else if (this.isUp && this.#session !== undefined) {
      task.isReporting = true;
      this.#world.queue.after(REPORT_RETRY_MS, () => {
        task.isReporting = false;
        this.#report(task);
      });
    }
  }
}

function reasonOf(state: TaskState): { error?: string } {
  return state >= TaskState.failed ? { error: 'task: non-zero exit (1)' } : {};
}
