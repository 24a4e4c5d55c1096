import type { Readable } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { EngineError, invalidArgument, notFound } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

/** A context in the body of a request. */
export interface UploadedBody extends Disposable {
  body: Readable;
}

interface Meeting {
  /** Undefined until it is offered. */
  body: Readable | undefined;
  offered: ReturnType<typeof withResolvers<undefined>>;
  taken: ReturnType<typeof withResolvers<undefined>>;
  over: ReturnType<typeof withResolvers<undefined>>;
}

/** Contexts that the CLI 20.10 sends beside its builds: either request may come first, by the same id. */
export class Uploads {
  readonly #clock: Clock;
  readonly #meetings = new Map<string, Meeting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the build has read it. Throws not_found when no build comes for it. */
  async offer(id: string, body: Readable, signal: AbortSignal): Promise<void> {
    const meeting = this.#meeting(id);
    if (meeting.body !== undefined) {
      throw new EngineError('conflict', `the context of build ${id} is uploaded already`);
    }
    meeting.body = body;
    const leave = (): void => meeting.over.resolve(undefined);
    signal.addEventListener('abort', leave, { once: true });
    try {
      meeting.offered.resolve(undefined);
      if (!(await withTimeout(this.#clock, meeting.taken.promise, limits.sessionWaitMs))) {
        throw notFound(`no build ${id} waits for an uploaded context`);
      }
      await meeting.over.promise;
    } finally {
      signal.removeEventListener('abort', leave);
      this.#meetings.delete(id);
    }
  }

  /** Throws invalid_argument when it does not come in time. Who disposes of it has read it. */
  async take(id: string, signal: AbortSignal): Promise<UploadedBody> {
    const meeting = this.#meeting(id);
    const leave = (): void => meeting.offered.resolve(undefined);
    signal.addEventListener('abort', leave, { once: true });
    try {
      await withTimeout(this.#clock, meeting.offered.promise, limits.sessionWaitMs);
      signal.throwIfAborted();
      const { body } = meeting;
      if (body === undefined) {
        throw invalidArgument(`the context of build ${id} was not uploaded`);
      }
      meeting.taken.resolve(undefined);
      return { body, [Symbol.dispose]: () => meeting.over.resolve(undefined) };
    } catch (error) {
      this.#meetings.delete(id);
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #meeting(id: string): Meeting {
    const known = this.#meetings.get(id);
    if (known !== undefined) {
      return known;
    }
    if (this.#meetings.size >= limits.buildsMax) {
      throw new EngineError('resource_exhausted', `more than ${limits.buildsMax} contexts are uploaded`);
    }
    const meeting: Meeting = {
      body: undefined,
      offered: withResolvers(),
      taken: withResolvers(),
      over: withResolvers(),
    };
    this.#meetings.set(id, meeting);
    return meeting;
  }
}
