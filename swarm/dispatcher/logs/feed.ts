import type { Clock } from '../../../daemon/base/clock.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { LogLine, LogSubscription } from '../../protocol/session.ts';

/** What of a node's tasks a client reads. `done` for good, or `away` with the reason: the node may come back. */
type FeedState = 'asked' | 'running' | 'done' | 'away';

/** Lines of one node for one client. Asked for again under another id where the node was away. */
export class Feed {
  readonly node: string;
  readonly tasks: readonly string[];
  state: FeedState = 'asked';
  /** Why lines are missing. */
  problem: string | undefined;
  readonly #wanted: Omit<LogSubscription, 'id' | 'tasks'>;
  readonly #clock: Clock;
  #timer: Disposable | undefined;
  /** Of the last line. */
  #at: string | undefined;

  constructor(deps: {
    clock: Clock;
    node: string;
    tasks: readonly string[];
    wanted: Omit<LogSubscription, 'id' | 'tasks'>;
  }) {
    this.#clock = deps.clock;
    this.node = deps.node;
    this.tasks = deps.tasks;
    this.#wanted = deps.wanted;
  }

  /** What the node is asked: after what has come already. */
  ask(id: string, onSilence: () => void): LogSubscription {
    this.state = 'asked';
    this.problem = undefined;
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.setTimeout(onSilence, limits.swarmLogsOpenMs);
    const { tail: _tail, ...rest } = this.#wanted;
    const tasks = [...this.tasks];
    return this.#at === undefined
      ? { ...this.#wanted, id, tasks }
      : { ...rest, id, tasks, since: String(BigInt(this.#at) + 1n) };
  }

  /** The node begins to send. */
  begin(): void {
    this.#timer?.[Symbol.dispose]();
    this.state = 'running';
  }

  took({ at }: LogLine): void {
    if (this.#at === undefined || BigInt(at) > BigInt(this.#at)) {
      this.#at = at;
    }
  }

  end(state: 'done' | 'away', problem?: string): void {
    this.#timer?.[Symbol.dispose]();
    this.state = state;
    this.problem = problem;
  }
}
