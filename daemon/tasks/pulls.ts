import type { ImagePort, PullOptions } from '../../api/types/ports.ts';
import { EngineError, errorText, isEngineError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { TaskDeps } from './ports.ts';

interface Deps {
  images: Pick<ImagePort, 'inspect' | 'pull'>;
  registryAuth: TaskDeps['registryAuth'];
  clock: Clock;
  logger: Logger;
}

interface Pull {
  /** Never rejects: what went wrong. */
  done: Promise<unknown>;
  /** How many tasks wait for it. */
  waiting: number;
  abort: AbortController;
  endedMs?: number;
}

/**
 * Images of tasks. One that is named by its digest or id is pulled when it is not here; a tag is pulled each time, and
 * where that fails the image that is here will do. Tasks that want the same at the same time share one pull.
 */
export class TaskImages {
  readonly #deps: Deps;
  readonly #pulls = new Map<string, Pull>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Resolves when the image is here. Throws what the pull threw. */
  async ensure(image: string, registryAuth: string | undefined, signal: AbortSignal): Promise<void> {
    const isHere = await this.#isHere(image);
    if (isHere && /@sha256:|^(?:sha256:)?[0-9a-f]{64}$/.test(image)) {
      return;
    }
    const failure = await this.#pull(image, registryAuth ?? '', signal);
    if (failure === undefined) {
      return;
    }
    signal.throwIfAborted();
    if (!(await this.#isHere(image))) {
      throw asLasting(failure);
    }
    this.#deps.logger.warn(
      { image, error: errorText(failure) },
      'an image was not pulled: the one here is used',
    );
  }

  async #isHere(image: string): Promise<boolean> {
    try {
      await this.#deps.images.inspect(image);
      return true;
    } catch (error) {
      if (isEngineError(error, 'not_found')) {
        return false;
      }
      throw error;
    }
  }

  /** What went wrong; undefined where nothing did. */
  async #pull(image: string, registryAuth: string, signal: AbortSignal): Promise<unknown> {
    const key = `${image}\n${registryAuth}`;
    const pull = this.#current(key) ?? this.#begin(key, image, registryAuth);
    pull.waiting += 1;
    const leave = (): void => {
      pull.waiting -= 1;
      if (pull.waiting === 0) {
        pull.abort.abort();
      }
    };
    const over = new AbortController();
    signal.addEventListener('abort', leave, { once: true, signal: over.signal });
    try {
      return await Promise.race([pull.done, aborted(signal, over)]);
    } finally {
      over.abort();
    }
  }

  /** One that goes on, or has just ended. */
  #current(key: string): Pull | undefined {
    const pull = this.#pulls.get(key);
    const ageMs = this.#deps.clock.monotonicMs() - (pull?.endedMs ?? Number.POSITIVE_INFINITY);
    return pull?.abort.signal.aborted === true || ageMs > limits.taskPullFreshMs ? undefined : pull;
  }

  #begin(key: string, image: string, registryAuth: string): Pull {
    const abort = new AbortController();
    const ended = (failure: unknown): unknown => {
      pull.endedMs = this.#deps.clock.monotonicMs();
      this.#deps.clock.setTimeout(() => {
        if (this.#pulls.get(key) === pull) {
          this.#pulls.delete(key);
        }
      }, limits.taskPullFreshMs);
      return failure;
    };
    const done = this.#run(image, registryAuth, abort.signal).then(ended, ended);
    const pull: Pull = { done, waiting: 0, abort };
    this.#pulls.set(key, pull);
    return pull;
  }

  async #run(image: string, registryAuth: string, signal: AbortSignal): Promise<unknown> {
    const options: PullOptions = {
      ...nameAndTag(image),
      auth: registryAuth === '' ? {} : this.#deps.registryAuth(registryAuth),
      signal,
    };
    try {
      for await (const { error } of this.#deps.images.pull(options)) {
        if (error !== undefined) {
          return new EngineError('remote', error);
        }
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }
}

/** As the API takes them: a digest stands in for the tag. */
function nameAndTag(image: string): { name: string; tag: string } {
  const at = image.indexOf('@');
  const named = at === -1 ? image : image.slice(0, at);
  const colon = named.lastIndexOf(':');
  const hasTag = colon > named.lastIndexOf('/');
  const name = hasTag ? named.slice(0, colon) : named;
  const tag = hasTag ? named.slice(colon + 1) : 'latest';
  return { name, tag: at === -1 ? tag : image.slice(at + 1) };
}

/** A registry that does not answer is no reason to wait here: the service's restart policy says when to try again. */
function asLasting(failure: unknown): unknown {
  const isPassing = isEngineError(failure, 'unavailable') || isEngineError(failure, 'deadline_exceeded');
  return isPassing ? new EngineError('remote', failure.message, { cause: failure }) : failure;
}

/** The reason of the signal, unless it is over before. */
function aborted(signal: AbortSignal, over: AbortController): Promise<unknown> {
  return new Promise((resolve) => {
    const end = (): void => resolve(signal.reason);
    if (signal.aborted) {
      end();
    }
    signal.addEventListener('abort', end, { once: true, signal: over.signal });
  });
}
