import type { Leading, LeaderLoop } from '../leader/ports.ts';
import { leaderOf } from '../leader/start-leading.ts';
import { notLeader } from '../protocol/not-leader.ts';
import type { Caller, Method } from '../rpc/port.ts';
import type { DispatcherDeps } from './ports.ts';
import { Term } from './term.ts';

/**
 * What nodes call on a manager: sessions, heartbeats, statuses, lines of logs. Served while this manager leads; else it
 * names the one that does.
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
      this.#call('session.leave', (term, body, caller) => term.leave(body, caller)),
    ];
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

  #call(name: string, act: (term: Term, body: unknown, caller: Caller) => unknown): Method {
    return {
      name,
      allowed: 'node',
      kind: 'call',
      handle: async (body, caller) => act(this.#leading, body, caller) ?? {},
    };
  }
}
