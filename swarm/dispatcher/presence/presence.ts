import type { NodeDescription } from '../../../api/types/swarm/node.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { Leading } from '../../leader/ports.ts';
import { TaskState } from '../../objects/task-state.ts';
import { observedState } from '../../planner/state/observed.ts';
import { NodeWriter } from './node-writer.ts';

const PERIOD_DEFAULT_MS = 5_000;
/** Periods without a heartbeat after which a node is down; and those that it has to find a new leader. */
const PERIODS = 3;
const PERIODS_AT_ELECTION = 6;
const NANO_PER_MS = 1_000_000;

export const HEARTBEAT_FAILURE = 'heartbeat failure';
/** Tells in the task's status why nobody knows more of it. */
const ORPHANED = 'the node was down for 24 hours';
export const LEADER_CHANGED = 'Node moved to "unknown" state due to leadership change in cluster';

interface Deps {
  leading: Leading;
  clock: Clock;
  logger: Logger;
  /** A node is down: its session ends. */
  onDown(node: string): void;
}

/** What a node says of itself with a session's first words. */
interface Arrival {
  addr: string;
  dataAddr: string | undefined;
  description: NodeDescription;
  subnets: string[];
}

/** Which nodes are there: only heartbeats decide that, whatever becomes of their connections. */
export class Presence implements Disposable {
  readonly #deps: Deps;
  readonly #writer: NodeWriter;
  /** What happens to each node when it goes on as it is. */
  readonly #expected = new Map<string, Disposable>();

  /** All nodes that were not down have their time to find this leader; nothing is stored for it. */
  constructor(deps: Deps) {
    this.#deps = deps;
    this.#writer = new NodeWriter(deps);
    for (const node of deps.leading.cluster.state.nodes.keys()) {
      if (deps.leading.cluster.part('nodeState', node)?.state !== 'down') {
        deps.leading.markNode(node, { state: 'unknown', message: LEADER_CHANGED });
      }
      this.notice(node);
    }
  }

  /** What the cluster's specification asks for, now. */
  get periodMs(): number {
    const nano = this.#deps.leading.cluster.state.cluster?.spec.Dispatcher?.HeartbeatPeriod ?? 0;
    return nano > 0 ? nano / NANO_PER_MS : PERIOD_DEFAULT_MS;
  }

  /** A node's records have changed by other hands: a new one is waited for, a removed one is not. */
  notice(node: string): void {
    const { leading } = this.#deps;
    const state = leading.cluster.part('nodeState', node);
    if (state === undefined) {
      this.#forget(node);
    } else if (this.#expected.has(node)) {
      return;
    } else if (state.state === 'down') {
      // Also one that another leader found to be so; it came back to none.
      this.#awaitEnd(node, state.since);
    } else {
      this.#expect(node, PERIODS_AT_ELECTION * this.periodMs, () => this.#fail(node, HEARTBEAT_FAILURE));
    }
  }

  /** A session begins. */
  arrive(node: string, { addr, dataAddr, ...said }: Arrival): void {
    this.beat(node);
    const state = { state: 'ready' as const, message: '', addr, dataAddr: dataAddr ?? null };
    this.#writer.write(node, { ...state, ...said });
    this.#deps.leading.markNode(node, undefined);
  }

  beat(node: string): void {
    this.#expect(node, PERIODS * this.periodMs, () => this.#fail(node, HEARTBEAT_FAILURE));
  }

  describe(node: string, said: Pick<Arrival, 'description' | 'subnets'>): void {
    this.#writer.write(node, said);
  }

  /** The node says itself that it goes for good. */
  leave(node: string): void {
    this.#fail(node, 'node has left the swarm');
  }

  [Symbol.dispose](): void {
    for (const timer of this.#expected.values()) {
      timer[Symbol.dispose]();
    }
    this.#expected.clear();
  }

  #fail(node: string, message: string): void {
    const { leading } = this.#deps;
    this.#writer.write(node, { state: 'down', message });
    leading.markNode(node, { state: 'down', message });
    this.#awaitEnd(node, this.#now());
    this.#deps.onDown(node);
  }

  /** @param since In milliseconds since 1970 UTC, by the clock of the manager that led then. */
  #awaitEnd(node: string, since: number): void {
    const leftMs = Math.min(since + limits.swarmOrphanAfterMs - this.#now(), limits.swarmOrphanAfterMs);
    this.#expect(node, Math.max(0, leftMs), () => this.#orphan(node));
  }

  /** What became of its tasks will never be known. */
  #orphan(node: string): void {
    const { leading } = this.#deps;
    this.#expected.delete(node);
    for (const task of leading.state.tasksOn(node)) {
      const state = observedState(task);
      if (state >= TaskState.assigned && state <= TaskState.running) {
        const { at: _at, running: _running, ...said } = task.status ?? { at: 0, message: '' };
        leading.report({ ...said, id: task.id, state: TaskState.orphaned, error: ORPHANED });
      }
    }
  }

  #expect(node: string, withinMs: number, act: () => void): void {
    this.#expected.get(node)?.[Symbol.dispose]();
    this.#expected.set(node, this.#deps.clock.setTimeout(act, withinMs));
  }

  #forget(node: string): void {
    this.#expected.get(node)?.[Symbol.dispose]();
    this.#expected.delete(node);
    this.#deps.leading.markNode(node, undefined);
  }

  #now(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}
