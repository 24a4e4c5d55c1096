import { put, type Write } from '../../swarm/objects/parts.ts';
import { TaskState, taskStateName } from '../../swarm/objects/task-state.ts';
import type { TaskRecord, TaskStatus } from '../../swarm/objects/task.ts';
import { Planner } from '../../swarm/planner/planner.ts';
import { Scheduler } from '../../swarm/planner/scheduler/scheduler.ts';
import { ClusterState } from '../../swarm/planner/state/cluster-state.ts';
import { observedState } from '../../swarm/planner/state/observed.ts';
import { keyOf } from './store.ts';
import type { Leader, World } from './world.ts';

const PASS_DELAY_MS = 50;
const TRANSACTION_WRITES = 100;
const DOWN_AFTER_MS = 15_000;
const DOWN_AFTER_ELECTION_MS = 30_000;
const STORE_RETRY_MS = 1_000;

/** A manager while it leads: the planner, and as much of a dispatcher as its nodes need. */
export class SimulatedLeader implements Leader {
  readonly state = new ClusterState();
  /** Ends in the middle of the next pass: after so many transactions. */
  diesAfterTransactions = Number.POSITIVE_INFINITY;
  #isAlive = true;
  readonly #world: World;
  readonly #planner: Planner;
  readonly #clockOffsetMs: number;
  /** At which revision each part is known that others write too. */
  readonly #seen = new Map<string, number>();
  readonly #present = new Set<string>();
  /** What nodes said last of each task, stored or not: they do not say it again. */
  readonly #reported = new Map<string, TaskStatus>();
  #passAt: number | undefined;
  #isCommitting = false;

  constructor(world: World, clockOffsetMs: number) {
    this.#world = world;
    this.#clockOffsetMs = clockOffsetMs;
    for (const write of world.store.read()) {
      this.state.apply(write);
      this.#seen.set(keyOf(write), world.store.revisionOf(write));
    }
    this.#planner = new Planner(this.state, world.random, new Scheduler(1));
    this.#planner.begin();
    for (const { id, state } of this.state.nodes.values()) {
      if (state !== undefined && state.state !== 'down') {
        // Known to this leader only: nothing is written for every node at each election.
        this.#planner.observe(put('nodeState', { ...state, state: 'unknown' }));
        this.#expect(id, DOWN_AFTER_ELECTION_MS);
      }
    }
    this.planAt(world.queue.now);
  }

  get now(): number {
    return this.#world.queue.now + this.#clockOffsetMs;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  stop(): void {
    this.#isAlive = false;
  }

  /** A change that somebody has stored. */
  observe(write: Write): void {
    this.#seen.set(keyOf(write), this.#world.store.revisionOf(write));
    this.#planner.observe(write);
    this.planAt(this.#world.queue.now + PASS_DELAY_MS);
  }

  planAt(at: number): void {
    if (this.#passAt !== undefined && this.#passAt <= at) {
      return;
    }
    this.#passAt = at;
    this.#world.queue.after(at - this.#world.queue.now, () => {
      if (this.#isAlive && this.#passAt === at && !this.#isCommitting) {
        this.#passAt = undefined;
        this.#pass();
      }
    });
  }

  #pass(): void {
    const plan = this.#planner.plan(this.now);
    for (const { service, error } of plan.errors) {
      this.#world.failures.push(`service ${service} could not be planned: ${error}`);
    }
    this.#isCommitting = true;
    this.#commit(plan.writes, () => {
      this.#isCommitting = false;
      if (plan.again !== undefined) {
        this.planAt(plan.again - this.#clockOffsetMs);
      }
      // What came due meanwhile.
      const at = this.#passAt;
      if (at !== undefined) {
        this.#passAt = undefined;
        this.planAt(Math.max(at, this.#world.queue.now));
      }
    });
  }

  #commit(writes: readonly Write[], done: () => void): void {
    if (writes.length === 0) {
      done();
      return;
    }
    this.#world.queue.after(this.#world.between(2, 10), () => {
      if (!this.#isAlive) {
        return;
      }
      const batch = writes.slice(0, TRANSACTION_WRITES);
      const nodes = batch.map((write) => this.#world.store.get('task', write.id)?.node);
      if (!this.#world.store.commit(batch, this.#seen)) {
        this.#takeBack(writes);
        this.#world.queue.after(STORE_RETRY_MS, done);
        return;
      }
      this.#world.note(`stored: ${batch.map(describeWrite).slice(0, 5).join(', ')} (${batch.length})`);
      batch.forEach((write, index) => {
        this.#seen.set(keyOf(write), this.#world.store.revisionOf(write));
        this.#dispatch(write, nodes[index]);
      });
      this.diesAfterTransactions -= 1;
      if (this.diesAfterTransactions <= 0) {
        this.#world.note('leader dies between two transactions');
        this.stop();
        return;
      }
      this.#commit(writes.slice(TRANSACTION_WRITES), done);
    });
  }

  /** The store refused: what is true is told to the planner again. */
  #takeBack(writes: readonly Write[]): void {
    this.#world.note(`store refuses ${writes.length} writes`);
    for (const { part, id } of writes) {
      const reported = part === 'status' ? this.#reported.get(id) : undefined;
      const value = reported ?? this.#world.store.get(part, id) ?? null;
      this.observe({ part, id, value } as Write);
    }
  }

  #dispatch(write: Write, nodeBefore: string | undefined): void {
    if (write.part !== 'task') {
      return;
    }
    if (write.value === null) {
      this.#reported.delete(write.id);
    }
    const node = write.value?.node ?? nodeBefore;
    if (node !== undefined && this.#present.has(node)) {
      this.#world.nodes.get(node)?.send(this, write.id, write.value ?? undefined);
    }
  }

  /** What a task runs, for its node. */
  imageOf(record: TaskRecord): string {
    return this.state.templateOf(record)?.task.ContainerSpec?.Image ?? '';
  }

  /** A node begins a session. Returns all its tasks. */
  register(id: string): TaskRecord[] {
    const state = this.#world.store.get('nodeState', id);
    if (!this.#isAlive || state === undefined) {
      return [];
    }
    this.#present.add(id);
    const ready = put('nodeState', { ...state, state: 'ready', since: this.now });
    if (state.state === 'ready' || this.#world.store.commit([ready])) {
      this.observe(ready);
    }
    return [...this.state.tasksOn(id)].flatMap((task) => this.#world.store.get('task', task.id) ?? []);
  }

  /** A session has ended: without another one the node is down after a while. */
  lose(id: string): void {
    this.#present.delete(id);
    this.#expect(id, DOWN_AFTER_MS);
  }

  #expect(id: string, withinMs: number): void {
    this.#world.queue.after(withinMs, () => {
      const state = this.#world.store.get('nodeState', id);
      if (!this.#isAlive || this.#present.has(id) || state === undefined || state.state === 'down') {
        return;
      }
      const down = put('nodeState', {
        ...state,
        state: 'down',
        since: this.now,
        message: 'heartbeat failure',
      });
      if (this.#world.store.commit([down])) {
        this.#world.note(`node ${id} is down`);
        this.observe(down);
      } else {
        this.#expect(id, STORE_RETRY_MS);
      }
    });
  }

  /** A node's report. True when it need not be repeated. */
  report(node: string, id: string, reported: TaskState): boolean {
    const task = this.state.tasks.get(id);
    if (!this.#isAlive || !this.#present.has(node)) {
      return false;
    }
    if (task?.record.node !== node || reported <= observedState(task)) {
      return true;
    }
    const running = reported === TaskState.running ? this.now : task.status?.running;
    const status: TaskStatus = {
      id,
      state: reported,
      at: this.now,
      message: '',
      ...(running === undefined ? {} : { running }),
      ...(reported >= TaskState.failed ? { error: 'task: non-zero exit (1)' } : {}),
    };
    const write = put('status', status);
    const isLast = reported > TaskState.running && task.record.desired === TaskState.remove;
    const isStored = reported >= TaskState.running && !isLast;
    if (isStored && !this.#world.store.commit([write])) {
      return false;
    }
    this.#reported.set(id, status);
    this.#world.note(`node ${node} reports task ${id.slice(0, 6)} ${taskStateName(reported)}`);
    this.observe(write);
    return true;
  }
}

function describeWrite(write: Write): string {
  const id = write.id.slice(0, 6);
  if (write.value === null) {
    return `${write.part} ${id} deleted`;
  }
  return write.part === 'task'
    ? `task ${id} ${taskStateName(write.value.desired)} on ${write.value.node ?? 'no node'}`
    : `${write.part} ${id}`;
}
