import { SeededRandom } from '../../test/support/seeded-random.ts';
import type { Cluster } from '../../swarm/cluster/cluster.ts';
import type { AttachedContainer } from '../../swarm/protocol/attachments.ts';
import type { KnownNetworks } from '../../test/support/swarm/told-networks.ts';
import type { Leading } from '../../swarm/leader/ports.ts';
import type { Caller, Method } from '../../swarm/rpc/port.ts';
import { EventQueue } from './event-queue.ts';
import { SimulatedStore } from './store.ts';

const TRACE_LINES = 50;

/** A node's part in networks of the swarm, as users see it. */
export interface MemberNetworks {
  /** What it was told. */
  readonly known: KnownNetworks;
  /** Containers that are no tasks and have been let in, by container. */
  readonly containers: ReadonlyMap<string, AttachedContainer>;
  attach(wish: AttachedContainer): void;
  detach(container: AttachedContainer): void;
}

/** A node, as users and fate see it. */
export interface Member {
  readonly id: string;
  readonly isUp: boolean;
  /** Ids of the tasks that really run. */
  readonly running: string[];
  /** Whether a task was on it and is over, told to the leader or not. */
  hasEnded(task: string): boolean;
  slowness: number;
  readonly networks: MemberNetworks;
  /** Ends the session, if there is one, and begins another within so long. */
  dial(withinMs: number): void;
  crash(): void;
  boot(): void;
}

/** A manager, as nodes, users and fate see it. */
export interface Manager {
  /** Milliseconds since 1970 UTC by its clock. */
  readonly now: number;
  /** Undefined while it does not lead. */
  readonly leading: Leading | undefined;
  readonly cluster: Cluster | undefined;
  readonly isDead: boolean;
  /** It dies with the transaction after so many. */
  commitsLeft: number;
  /** As with SIGKILL: the store does not hear of it, and nodes lose their connections. */
  kill(): void;
  /** Lets another one lead. */
  resign(): void;
  /** A method as nodes call it; it throws where nobody answers. */
  method<K extends Method['kind']>(name: string, kind: K): Extract<Method, { kind: K }>;
  callerOf(node: string): Caller;
}

/** What all parts of a simulation share. */
export class World {
  readonly queue = new EventQueue();
  readonly random: SeededRandom;
  readonly store = new SimulatedStore(this.queue);
  readonly nodes = new Map<string, Member>();
  readonly managers: Manager[] = [];
  /** No more faults: messages arrive, tasks run. */
  isCalm = false;
  /** What went wrong on the way. */
  readonly failures: string[] = [];
  readonly #trace: string[] = [];
  #traceOfFailure: readonly string[] | undefined;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  /** The manager that leads; undefined while none does. */
  get leader(): Manager | undefined {
    return this.managers.find(({ leading }) => leading !== undefined);
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

  /** Something that must not be, at this moment: the trace ends with it. */
  fail(text: string): void {
    this.note(text);
    this.#traceOfFailure ??= [...this.#trace];
    this.failures.push(text);
  }

  /** The last events, oldest first: before the first failure, where one was seen. */
  get trace(): readonly string[] {
    return this.#traceOfFailure ?? this.#trace;
  }
}
