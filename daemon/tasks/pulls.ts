import type { ImagePort, PullOptions } from '../../api/types/ports.ts';
import { EngineError, errorText, isEngineError, notFound } from '../base/errors.ts';
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
  /** The registry has said something. */
  isAnswered: boolean;
  endedMs?: number;
}

/** References that say which bytes are meant. */
const CONTENT = /@sha256:|^(?:sha256:)?[0-9a-f]{64}$/;

/**
 * Images of tasks. One that is named by its digest or id is pulled when it is not here; a tag is pulled each time, and
 * where that fails the image that is here will do. Tasks that want the same at the same time share one pull.
 */
export class TaskImages {
  readonly #deps: Deps;
  readonly #pulls = new Map<string, Pull>();
  /** Pulls that no registry answered a while ago: the image that is here is used without asking again. */
  readonly #unanswered = new Set<string>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Resolves when the image is here. Throws `No such image`, with what the pull said. */
  async ensure(image: string, registryAuth: string | undefined, signal: AbortSignal): Promise<void> {
    const auth = registryAuth ?? '';
    const isHere = await this.#isHere(image);
    if (isHere && (CONTENT.test(image) || this.#unanswered.has(keyOf(image, auth)))) {
      return;
    }
    const failure = await this.#pull(image, auth, {
      signal,
      patienceMs: isHere ? limits.taskPullPatienceMs : -1,
    });
    if (failure === undefined) {
      return;
    }
    if (signal.aborted) {
      throw new EngineError('canceled', `pull ${image}: canceled`);
    }
    if (!(await this.#isHere(image))) {
      throw missing(image, failure);
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

  /** What went wrong; undefined where nothing did. A negative patience is endless. */
  async #pull(
    image: string,
    registryAuth: string,
    { signal, patienceMs }: { signal: AbortSignal; patienceMs: number },
  ): Promise<unknown> {
    const key = keyOf(image, registryAuth);
    const pull = this.#current(key) ?? this.#begin(key, image, registryAuth);
    pull.waiting += 1;
    try {
      const failure = await this.#outcome(pull, signal, patienceMs);
      if (!pull.isAnswered && isSilence(failure)) {
        this.#noteUnanswered(key);
      }
      return failure;
    } finally {
      pull.waiting -= 1;
      if (pull.waiting === 0 && pull.endedMs === undefined) {
        pull.abort.abort();
      }
    }
  }

  /** Of the pull, or why it is waited for no more. */
  async #outcome(pull: Pull, signal: AbortSignal, patienceMs: number): Promise<unknown> {
    let leave!: (why: EngineError) => void;
    const left = new Promise<EngineError>((resolve) => {
      leave = resolve;
    });
    const cancel = (): void => leave(new EngineError('canceled', 'canceled'));
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) {
      cancel();
    }
    const timer =
      patienceMs < 0
        ? undefined
        : this.#deps.clock.setTimeout(() => giveUp(pull, patienceMs, leave), patienceMs);
    try {
      return await Promise.race([pull.done, left]);
    } finally {
      timer?.[Symbol.dispose]();
      signal.removeEventListener('abort', cancel);
    }
  }

  #noteUnanswered(key: string): void {
    if (!this.#unanswered.has(key)) {
      this.#unanswered.add(key);
      this.#deps.clock.setTimeout(() => this.#unanswered.delete(key), limits.taskPullSilenceMs);
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
    const pull: Pull = { done: Promise.resolve(), waiting: 0, abort, isAnswered: false };
    pull.done = this.#run(pull, image, registryAuth).finally(() => {
      pull.endedMs = this.#deps.clock.monotonicMs();
      this.#deps.clock.setTimeout(() => this.#forget(key, pull), limits.taskPullFreshMs);
    });
    this.#pulls.set(key, pull);
    return pull;
  }

  #forget(key: string, pull: Pull): void {
    if (this.#pulls.get(key) === pull) {
      this.#pulls.delete(key);
    }
  }

  /** Never rejects. */
  async #run(pull: Pull, image: string, registryAuth: string): Promise<unknown> {
    const options: PullOptions = {
      ...nameAndTag(image),
      auth: registryAuth === '' ? {} : this.#deps.registryAuth(registryAuth),
      signal: pull.abort.signal,
    };
    try {
      for await (const { error, id } of this.#deps.images.pull(options)) {
        // What is said while a registry is waited for is of nothing.
        pull.isAnswered ||= id !== undefined;
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

function keyOf(image: string, registryAuth: string): string {
  return `${image}\n${registryAuth}`;
}

/** Of a registry that could not be reached, unlike one that has said no. */
function isSilence(failure: unknown): boolean {
  return isEngineError(failure, 'unavailable') || isEngineError(failure, 'remote');
}

function giveUp(pull: Pull, afterMs: number, leave: (why: EngineError) => void): void {
  if (!pull.isAnswered) {
    leave(new EngineError('remote', `the registry has not answered within ${afterMs / 1000} s`));
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

/**
 * The beginning is what clients know, the rest what the pull said. A registry that does not answer is no reason to wait
 * here: the service's restart policy says when to try again, and on which node.
 */
function missing(image: string, failure: unknown): unknown {
  return isEngineError(failure, 'invalid_argument')
    ? failure
    : notFound(`No such image: ${image}: ${errorText(failure)}`, { cause: failure });
}
