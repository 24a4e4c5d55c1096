import type { Write } from '../../swarm/objects/parts.ts';
import type { TaskState } from '../../swarm/objects/task-state.ts';
import type { TaskRecord } from '../../swarm/objects/task.ts';
import type { ClusterState } from '../../swarm/planner/state/cluster-state.ts';
import { SeededRandom } from '../../test/support/swarm/seeded-random.ts';
import { EventQueue } from './event-queue.ts';
import { SimulatedStore } from './store.ts';

const TRACE_LINES = 50;

/** The manager that leads, as nodes, users and fate see it. */
export interface Leader {
  readonly state: ClusterState;
  readonly now: number;
  readonly isAlive: boolean;
  diesAfterTransactions: number;
  stop(): void;
  /** A change that somebody has stored. */
  observe(write: Write): void;
  /** A node begins a session. Returns all its tasks. */
  register(node: string): TaskRecord[];
  /** A session has ended. */
  lose(node: string): void;
  /** True when a report need not be repeated. */
  report(node: string, task: string, reported: TaskState): boolean;
  /** What a task runs. */
  imageOf(record: TaskRecord): string;
}

/** A node, as the leader, users and fate see it. */
export interface Member {
  readonly id: string;
  readonly isUp: boolean;
  /** Ids of the tasks that really run. */
  readonly running: string[];
  slowness: number;
  dial(withinMs: number): void;
  crash(): void;
  boot(): void;
  /** A task as it is wanted now, or that it is no longer known. */
  send(leader: Leader, task: string, record: TaskRecord | undefined): void;
}

/** What all parts of a simulation share. */
export class World {
  readonly queue = new EventQueue();
  readonly random: SeededRandom;
  readonly store = new SimulatedStore();
  readonly nodes = new Map<string, Member>();
  leader: Leader | undefined;
  /** No more faults: messages arrive, tasks run. */
  isCalm = false;
  /** What went wrong on the way. */
  readonly failures: string[] = [];
  readonly #trace: string[] = [];

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  /** A whole number of milliseconds between two. */
  between(from: number, to: number): number {
    return from + this.random.below(to - from + 1);
  }

  /** Whether something of this probability happens; never once it is calm. */
  happens(probability: number): boolean {
    return !this.isCalm && this.random.below(1_000_000) < probability * 1_000_000;
  }

  note(text: string): void {
    this.#trace.push(`${(this.queue.now / 1000 - 1_000_000).toFixed(3)} ${text}`);
    if (this.#trace.length > TRACE_LINES) {
      this.#trace.shift();
    }
  }

  /** The last events, oldest first. */
  get trace(): readonly string[] {
    return this.#trace;
  }
}
