import { errorText } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { LogFailure, LogHead, LogLine, LogSubscription } from '../protocol/session.ts';
import type { Executor } from './executor.ts';
import type { OpenSession } from './session-client.ts';

/** Sends lines of tasks' logs to the leader, a stream for each of its readers, as long as its session lasts. */
export class LogPublisher {
  readonly #executor: Executor;
  readonly #logger: Logger;
  readonly #streams = new Map<string, AbortController>();

  constructor(executor: Executor, logger: Logger) {
    this.#executor = executor;
    this.#logger = logger;
  }

  begin(session: OpenSession, subscription: LogSubscription): void {
    const { id } = subscription;
    if (this.#streams.has(id) || this.#streams.size >= limits.swarmLogStreamsMax) {
      this.#logger.warn({ subscription: id }, 'a reader of logs is not served: there are too many');
      return;
    }
    const stream = new AbortController();
    this.#streams.set(id, stream);
    const signal = AbortSignal.any([stream.signal, session.signal]);
    void this.#publish(session, subscription, signal)
      .finally(() => this.#streams.delete(id))
      .catch((error: unknown) => {
        this.#logger.debug({ subscription: id, error: errorText(error) }, 'a stream of logs has ended');
      });
  }

  async #publish(session: OpenSession, subscription: LogSubscription, signal: AbortSignal): Promise<void> {
    await session.client.upload('logs.publish', this.#lines(session, subscription, signal), signal);
  }

  end(id: string): void {
    this.#streams.get(id)?.abort();
  }

  async *#lines(
    session: OpenSession,
    subscription: LogSubscription,
    signal: AbortSignal,
  ): AsyncIterable<LogHead | LogLine | LogFailure> {
    yield { session: session.id, subscription: subscription.id };
    try {
      yield* this.#executor.logs(subscription, signal);
    } catch (error) {
      signal.throwIfAborted();
      // What there was has been sent; the reader is told why it is not all.
      yield { error: errorText(error) };
    }
  }
}
