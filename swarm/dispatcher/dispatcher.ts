import type { Leading, LeaderLoop } from '../leader/ports.ts';
import { leaderOf } from '../leader/start-leading.ts';
import type { LogsItem, LogsRequest } from '../protocol/logs.ts';
import { notLeader } from '../protocol/not-leader.ts';
import type { Caller, Method } from '../rpc/port.ts';
import { logsRequestOf } from './logs/check.ts';
import type { DispatcherDeps } from './ports.ts';
import { Term } from './term.ts';

/**
 * What nodes call on a manager: sessions, heartbeats, statuses, containers in networks, lines of logs. Served while
 * this manager leads; else it names the one that does.
 */
export class Dispatcher implements LeaderLoop {
  readonly #deps: DispatcherDeps;
  #term: Term | undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** To be served for as long as this node is a manager. */
  get methods(): Method[] {
    return [
      {
        name: 'session.open',
        allowed: 'node',
        kind: 'stream',
        handle: (body, caller, signal) => this.#leading.open(body, caller, signal),
      },
      this.#call('session.heartbeat', (term, body, caller) => term.heartbeat(body, caller)),
      this.#call('session.report', (term, body, caller) => term.report(body, caller)),
      this.#call('session.describe', (term, body, caller) => term.describe(body, caller)),
      this.#call('session.leave', (term, body, caller, signal) => term.leave(body, caller, signal)),
      this.#call('networks.attach', (term, body, caller, signal) => term.attach(body, caller, signal)),
      this.#call('networks.detach', (term, body, caller, signal) => term.detach(body, caller, signal)),
      this.#call('networks.attached', (term, body, caller, signal) => term.attached(body, caller, signal)),
      {
        name: 'logs.publish',
        allowed: 'node',
        kind: 'upload',
        handle: async (values, caller) => {
          await this.#leading.publish(values, caller);
          return {};
        },
      },
      {
        name: 'logs.subscribe',
        allowed: 'manager',
        kind: 'stream',
        handle: (body, _caller, signal) => this.#leading.logs.read(logsRequestOf(body), signal),
      },
    ];
  }

  /**
   * Lines of tasks wherever they run, until all have come, or with `follow` until the signal. Where this manager does
   * not lead they come by way of the leader. Throws failed_precondition where there is none, unavailable where it does
   * not answer.
   */
  async *logs(request: LogsRequest, signal: AbortSignal): AsyncGenerator<LogsItem> {
    if (this.#term !== undefined) {
      yield* this.#term.logs.read(request, signal);
      return;
    }
    const leader = leaderOf(this.#deps.cluster);
    if (leader === undefined) {
      throw notLeader(undefined);
    }
    using client = this.#deps.dial(leader.addr);
    for await (const item of client.stream('logs.subscribe', request, signal)) {
      // Another manager's `LogBroker` has made it.
      yield item as LogsItem;
    }
  }

  start(leading: Leading): AsyncDisposable {
    const term = new Term(this.#deps, leading);
    this.#term = term;
    return {
      [Symbol.asyncDispose]: async () => {
        this.#term = undefined;
        await term[Symbol.asyncDispose]();
      },
    };
  }

  /** Throws failed_precondition with the leader's address. */
  get #leading(): Term {
    if (this.#term === undefined) {
      throw notLeader(leaderOf(this.#deps.cluster)?.addr);
    }
    return this.#term;
  }

  #call(
    name: string,
    act: (term: Term, body: unknown, caller: Caller, signal: AbortSignal) => unknown,
  ): Method {
    return {
      name,
      allowed: 'node',
      kind: 'call',
      handle: async (body, caller, signal) => (await act(this.#leading, body, caller, signal)) ?? {},
    };
  }
}
