import type { Clock } from '../../daemon/base/clock.ts';
import { failedPrecondition, type EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { NetworksChange } from '../protocol/networks.ts';
import { SESSION_INVALID, type Assignments, type SessionMessage } from '../protocol/session.ts';
import type { AssignmentSet } from './assignments/assignment-set.ts';
import type { NetworkSet } from './assignments/networks/network-set.ts';

/** What of a session's node may be told anew. */
export type Topic = 'managers' | 'node' | 'root';

interface Deps {
  clock: Clock;
  id: string;
  node: string;
  set: AssignmentSet;
  networks: NetworkSet;
  heartbeatMs: number;
  /** As it is now; undefined where there is nothing to tell. */
  tell(topic: Topic): SessionMessage | undefined;
}

/**
 * What a node is told, made when its stream takes it. Of what changed meanwhile only that it did is kept: a slow node
 * costs no more than its tasks.
 */
export class Session {
  readonly id: string;
  readonly node: string;
  readonly #deps: Deps;
  readonly #topics = new Set<Topic>();
  /** As JSON. */
  readonly #told = new Map<Topic, string>();
  readonly #tasks = new Set<string>();
  #logs: SessionMessage[] = [];
  #toldMs = Number.NEGATIVE_INFINITY;
  #timer: Disposable | undefined;
  /** Tasks and networks are to be told, together. */
  #isDue = false;
  #ended: EngineError | undefined;
  #wake: (() => void) | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.id = deps.id;
    this.node = deps.node;
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** This topic may be another than it was told. */
  touch(topic: Topic): void {
    this.#topics.add(topic);
    this.#wake?.();
  }

  /** A task may be another than it was told. */
  touchTask(id: string): void {
    this.#tasks.add(id);
    if (this.#tasks.size >= limits.swarmAssignmentsMax) {
      this.#due();
    } else {
      this.#dueSoon();
    }
  }

  /** Its networks may be others than it was told. */
  touchNetworks(): void {
    if (!this.hasEnded) {
      this.#dueSoon();
    }
  }

  /** Of logs; in order. */
  send(message: SessionMessage): void {
    this.#logs.push(message);
    this.#wake?.();
  }

  /** The stream throws this error. */
  end(error: EngineError = failedPrecondition(SESSION_INVALID)): void {
    this.#ended ??= error;
    this.#timer?.[Symbol.dispose]();
    this.#deps.networks[Symbol.dispose]();
    this.#wake?.();
  }

  /** All that the node is told, until the session ends or the signal comes. */
  async *messages(signal: AbortSignal): AsyncGenerator<SessionMessage> {
    const { id, heartbeatMs, set, networks } = this.#deps;
    signal.addEventListener('abort', () => this.#wake?.(), { once: true });
    yield { kind: 'welcome', session: id, heartbeatMs };
    yield* this.#topical(['managers', 'node', 'root']);
    yield* this.#networks(networks.full());
    this.#tasks.clear();
    yield* this.#assignments(set.full());
    for (;;) {
      if (this.#ended !== undefined) {
        throw this.#ended;
      }
      if (signal.aborted) {
        return;
      }
      yield* this.#next();
      await this.#news(signal);
    }
  }

  *#next(): Generator<SessionMessage> {
    const topics = [...this.#topics];
    this.#topics.clear();
    yield* this.#topical(topics);
    if (this.#isDue) {
      const { set, networks, clock } = this.#deps;
      const tasks = set.changes([...this.#tasks]);
      const { before, after } = networks.changes();
      this.#tasks.clear();
      this.#isDue = false;
      this.#toldMs = clock.monotonicMs();
      // Tasks find their networks there, and are told to go before these do.
      yield* this.#networks(before);
      yield* this.#assignments(tasks);
      yield* this.#networks(after);
    }
    // After the tasks whose logs are asked for.
    const logs = this.#logs;
    this.#logs = [];
    yield* logs;
  }

  *#topical(topics: readonly Topic[]): Generator<SessionMessage> {
    for (const topic of topics) {
      const message = this.#deps.tell(topic);
      const text = JSON.stringify(message);
      if (message !== undefined && this.#told.get(topic) !== text) {
        this.#told.set(topic, text);
        yield message;
      }
    }
  }

  *#assignments(parts: readonly Assignments[]): Generator<SessionMessage> {
    for (const assignments of parts) {
      yield { kind: 'assignments', assignments };
    }
  }

  *#networks(parts: readonly NetworksChange[]): Generator<SessionMessage> {
    for (const change of parts) {
      yield { kind: 'networks', change };
    }
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const isNews =
        this.#topics.size > 0 || this.#isDue || this.#logs.length > 0 || this.#ended !== undefined;
      if (isNews || signal.aborted) {
        resolve();
        return;
      }
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  #dueSoon(): void {
    const { clock } = this.#deps;
    if (this.#timer === undefined) {
      const sinceMs = clock.monotonicMs() - this.#toldMs;
      const delayMs = Math.max(limits.swarmAssignmentsFirstMs, limits.swarmAssignmentsMs - sinceMs);
      this.#timer = clock.setTimeout(() => this.#due(), delayMs);
    }
  }

  #due(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#isDue = true;
    this.#wake?.();
  }
}
