import type { BuildSession } from '../../../api/types/build/session.ts';
import type { Clock } from '../../base/clock.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { EngineError, errorText, invalidArgument, notFound } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';

export interface SessionsDeps {
  clock: Clock;
  log: Logger;
}

/** The sessions that clients have open, by their ids. */
export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #sessions = new Map<string, BuildSession>();
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /** Throws before the client is told that it has a session: an id that is taken, too many sessions. */
  refuse(id: string): void {
    if (id === '') {
      throw invalidArgument('the session has no id (X-Docker-Expose-Session-Uuid)');
    }
    if (this.#sessions.has(id)) {
      throw new EngineError('conflict', `session ${id} is open already`);
    }
    if (this.#sessions.size >= limits.sessionsMax) {
      throw new EngineError('resource_exhausted', `more than ${limits.sessionsMax} sessions are open`);
    }
  }

  /** Serves builds with a session until it is over. A client that does not answer any more is one that has gone. */
  async attach(session: BuildSession & { end(): void }): Promise<void> {
    this.refuse(session.id);
    this.#sessions.set(session.id, session);
    this.#waiting.get(session.id)?.forEach((tell) => tell());
    const stop = new AbortController();
    try {
      await Promise.race([session.closed, this.#watch(session, stop.signal)]);
    } finally {
      stop.abort(new EngineError('canceled', 'the session is over'));
      this.#sessions.delete(session.id);
      session.end();
    }
  }

  /**
   * The session of that id, which may only be about to be opened. Throws not_found when it does not come in time.
   */
  async get(id: string, signal: AbortSignal): Promise<BuildSession> {
    const there = this.#sessions.get(id);
    if (there !== undefined) {
      return there;
    }
    const { opened, tell } = notice();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(tell));
    signal.addEventListener('abort', tell);
    try {
      await withTimeout(this.#deps.clock, opened, limits.sessionWaitMs);
    } finally {
      signal.removeEventListener('abort', tell);
      waiting.delete(tell);
      if (waiting.size === 0) {
        this.#waiting.delete(id);
      }
    }
    signal.throwIfAborted();
    const session = this.#sessions.get(id);
    if (session === undefined) {
      throw notFound(`no active session for ${id}`);
    }
    return session;
  }

  /** Ends when the session does not answer any more. */
  async #watch(session: BuildSession, signal: AbortSignal): Promise<void> {
    for (let failures = 0; failures < limits.sessionFailuresMax && !signal.aborted;) {
      await this.#pause();
      try {
        await session.check(signal);
        failures = 0;
      } catch (error) {
        failures += 1;
        this.#deps.log.debug({ session: session.id, reason: errorText(error) }, 'a session does not answer');
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#deps.clock.setTimeout(resolve, limits.sessionCheckMs);
    });
  }
}

function notice(): { opened: Promise<void>; tell: () => void } {
  const stop = new AbortController();
  const opened = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve());
  });
  return { opened, tell: () => stop.abort() };
}
