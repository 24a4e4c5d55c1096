import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Random } from '../objects/random.ts';
import type {
  Heartbeat,
  Leave,
  ManagerAddress,
  SessionMessage,
  SessionRequest,
} from '../protocol/session.ts';
import type { Dial, RpcClient } from '../rpc/port.ts';
import { isNotLeader, leaderIn } from '../protocol/not-leader.ts';
import type { SaidOfNode } from './said-of-node.ts';
import { ManagerWeights } from './manager-weights.ts';
import { Suspicion } from './suspicion.ts';

/**
 * Of a period, until the heartbeat at the latest. A node is down after three periods: one whose daemon had no turn for
 * two of them (a hundred containers started at once, a frozen disk) still speaks in time, though the leader names
 * periods that are up to a tenth longer.
 */
const LATEST_SHARE = 0.8;

/** A session that is open: calls go to the leader that it is with. */
export interface OpenSession {
  id: string;
  client: RpcClient;
  /** Fires when the session is over. */
  signal: AbortSignal;
}

interface Deps {
  dial: Dial;
  managers(): readonly ManagerAddress[];
  clock: Clock;
  random: Random;
  logger: Logger;
  addr: string;
  dataAddr: string;
  describe(): Promise<SaidOfNode>;
  /** A session has begun; what is returned is disposed of when it is over. */
  opened(session: OpenSession, said: SaidOfNode): Disposable;
  /** Messages come one at a time: the next one when this has resolved. */
  message(session: OpenSession, message: Exclude<SessionMessage, { kind: 'welcome' }>): Promise<void> | void;
}

/**
 * Keeps a session with the leader for as long as the node belongs to the swarm: one after the other, from whichever
 * manager answers. A manager that does not lead says who does.
 */
export class SessionClient implements AsyncDisposable {
  readonly #deps: Deps;
  readonly #weights: ManagerWeights;
  readonly #suspicion = new Suspicion();
  readonly #closed = new AbortController();
  readonly #over: Promise<void>;
  /** Ends the session that is open, or the pause before the next. */
  #again = new AbortController();
  #open: OpenSession | undefined;
  #trouble: string | undefined = 'no session yet';

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#weights = new ManagerWeights(deps.random);
    this.#over = this.#live();
  }

  /** Why there is no session now; undefined while there is one. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Makes another session, at once. */
  reconnect(): void {
    this.#again.abort(new EngineError('canceled', 'the session is made anew'));
    this.#again = new AbortController();
  }

  /** Ends it for good: a leader that hears of it counts the node as down at once. */
  async leave(): Promise<void> {
    const session = this.#open;
    if (session !== undefined) {
      const body: Leave = { session: session.id };
      try {
        await session.client.call('session.leave', body, { timeoutMs: limits.swarmFarewellMs });
      } catch (error) {
        this.#deps.logger.info({ error: errorText(error) }, 'the leader was not told that this node leaves');
      }
    }
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    await this.#over;
  }

  async #live(): Promise<void> {
    const { clock, logger } = this.#deps;
    const { signal } = this.#closed;
    let pauseMs: number = limits.swarmSessionRetryMs;
    let leader: string | undefined;
    /** A manager answered last that it is not the leader: there will be one soon. */
    let isElecting = false;
    while (!signal.aborted) {
      const addr = leader ?? this.#weights.pick(this.#deps.managers(), this.#suspicion.addr);
      const known = leader;
      leader = undefined;
      const again = this.#again.signal;
      let hadSession = false;
      try {
        if (addr === undefined) {
          throw new EngineError('unavailable', 'no manager of the swarm is known');
        }
        await this.#hold(addr, again, () => {
          hadSession = true;
        });
        this.#trouble = 'the session has ended';
      } catch (error) {
        this.#trouble = errorText(error);
        // Followed once: two managers that take each other for the leader are no way to it.
        leader = known === undefined ? this.#followed(error) : undefined;
        isElecting = isNotLeader(error) || (isElecting && known !== undefined);
      }
      if (signal.aborted) {
        return;
      }
      logger.debug({ manager: addr, error: this.#trouble }, 'no session with a manager');
      pauseMs = hadSession ? limits.swarmSessionRetryMs : pauseMs;
      if (leader === undefined || leader === addr) {
        await pause(clock, pauseMs, AbortSignal.any([signal, again]));
        pauseMs = Math.min(
          pauseMs * 2,
          isElecting ? limits.swarmSessionElectionMs : limits.swarmSessionRetryMaxMs,
        );
      }
    }
  }

  /** The leader that a manager names, unless that one has just been asked in vain. */
  #followed(error: unknown): string | undefined {
    const named = leaderIn(error);
    const isTooEarly =
      named !== undefined && this.#suspicion.isTooEarly(named, this.#deps.clock.monotonicMs());
    return isTooEarly ? undefined : named;
  }

  /** One session, from its first word to its last. */
  async #hold(addr: string, again: AbortSignal, begun: () => void): Promise<void> {
    const said = await this.#deps.describe();
    const request: SessionRequest = {
      ...said,
      addr: this.#deps.addr,
      ...(this.#deps.dataAddr && { dataAddr: this.#deps.dataAddr }),
    };
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, again, this.#closed.signal]);
    let attached: Disposable | undefined;
    using patience = this.#patience(addr, over);
    try {
      failpoint('swarm.agent.session.open');
      using client = this.#deps.dial(addr);
      let session: OpenSession | undefined;
      for await (const value of client.stream('session.open', request, signal)) {
        // The leader, whose certificate was checked, says nothing else in this stream.
        const message = value as SessionMessage;
        if (message.kind !== 'welcome') {
          if (session !== undefined) {
            await this.#deps.message(session, message);
          }
          continue;
        }
        if (session === undefined) {
          session = { id: message.session, client, signal };
          this.#open = session;
          patience?.[Symbol.dispose]();
          this.#weights.answered(addr);
          this.#suspicion.answered(addr);
          this.#trouble = undefined;
          begun();
          attached = this.#deps.opened(session, said);
          void this.#heartbeats(session, message.heartbeatMs, over).catch(() => over.abort());
        }
      }
      over.signal.throwIfAborted();
    } catch (error) {
      this.#weights.failed(addr);
      this.#judge(addr, error, { hadSession: this.#open !== undefined, isMeant: again.aborted });
      // A heartbeat that was not answered has ended the stream, and says why.
      throw over.signal.aborted ? over.signal.reason : error;
    } finally {
      this.#open = undefined;
      over.abort();
      attached?.[Symbol.dispose]();
    }
  }

  #judge(
    addr: string,
    error: unknown,
    { hadSession, isMeant }: { hadSession: boolean; isMeant: boolean },
  ): void {
    if (isNotLeader(error)) {
      this.#suspicion.answered(addr);
    } else if (hadSession && !isMeant) {
      this.#suspicion.lost(addr);
    } else if (!isMeant) {
      this.#suspicion.silent(addr, this.#deps.clock.monotonicMs());
    }
  }

  /** Ends the wait for a manager that is suspected, where there are others. */
  #patience(addr: string, over: AbortController): Disposable | undefined {
    const patienceMs = this.#deps.managers().length > 1 ? this.#suspicion.patienceMs(addr) : undefined;
    return patienceMs === undefined
      ? undefined
      : this.#deps.clock.setTimeout(
          () => over.abort(new EngineError('deadline_exceeded', `${addr} does not answer`)),
          patienceMs,
        );
  }

  /** Ends the session with the first heartbeat that is not taken. */
  async #heartbeats(session: OpenSession, firstMs: number, over: AbortController): Promise<void> {
    const { clock, random, logger } = this.#deps;
    let periodMs = firstMs;
    while (!session.signal.aborted) {
      // Not all nodes at the same moment.
      const [chance = 0] = random.bytes(1);
      await pause(clock, periodMs * (LATEST_SHARE - chance / 2560), session.signal);
      if (session.signal.aborted) {
        return;
      }
      try {
        const beat: Heartbeat = { session: session.id };
        const answer = await session.client.call('session.heartbeat', beat, { signal: session.signal });
        periodMs = periodOf(answer) ?? periodMs;
      } catch (error) {
        if (!session.signal.aborted) {
          logger.info({ error: errorText(error) }, 'a heartbeat was not taken');
          over.abort(error);
        }
      }
    }
  }
}

/** A heartbeat's answer may say that the next ones come at another pace. */
function periodOf(answer: unknown): number | undefined {
  const isObject = typeof answer === 'object' && answer !== null;
  const period = isObject && 'heartbeatMs' in answer ? answer.heartbeatMs : undefined;
  return typeof period === 'number' && period > 0 ? period : undefined;
}

function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimeout(done, delayMs);
    function done(): void {
      signal.removeEventListener('abort', done);
      timer[Symbol.dispose]();
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) {
      done();
    }
  });
}
