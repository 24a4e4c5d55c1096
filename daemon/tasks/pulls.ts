import type { PullOptions } from '../../api/types/ports.ts';
import { EngineError, errorText, isEngineError, notFound, type ErrorCode } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { FromManagers } from './from-managers.ts';
import type { TaskDeps } from './ports.ts';
import { SharedWork, type Joined } from './shared-work.ts';

type Deps = Pick<TaskDeps, 'images' | 'managers' | 'registryAuth' | 'clock' | 'logger'>;

interface Pull {
  /** The registry has said something. */
  isAnswered: boolean;
}

/** References that say which bytes are meant. */
const CONTENT = /@sha256:|^(?:sha256:)?[0-9a-f]{64}$/;
/** These name no registry. */
const ID = /^(?:sha256:)?[0-9a-f]{64}$/;
/** Of a registry that does not have it, does not give it, or is not there. */
const NOT_GIVEN: readonly ErrorCode[] = [
  'not_found',
  'unauthorized',
  'forbidden',
  'unavailable',
  'remote',
  'deadline_exceeded',
];

/**
 * Images of tasks. One that is named by its digest or id is pulled when it is not here; a tag is pulled each time. What
 * no registry gives comes from the managers, and where that fails the image that is here will do. Tasks that want the
 * same at the same time share one pull.
 */
export class TaskImages {
  readonly #deps: Deps;
  readonly #pulls: SharedWork<Pull>;
  readonly #fromManagers: FromManagers;
  /** Pulls that no registry answered a while ago: it is not asked again where the image is here. */
  readonly #unanswered = new Set<string>();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#pulls = new SharedWork(deps.clock, limits.taskPullFreshMs);
    this.#fromManagers = new FromManagers(deps);
  }

  /** Resolves when the image is here. Throws `No such image`, with what the pull said. */
  async ensure(image: string, registryAuth: string | undefined, signal: AbortSignal): Promise<void> {
    const isHere = this.#isHere(image);
    if (isHere && CONTENT.test(image)) {
      return;
    }
    const failure = await this.#failureOf(image, { auth: registryAuth ?? '', isHere, signal });
    if (failure === undefined) {
      return;
    }
    if (signal.aborted) {
      throw new EngineError('canceled', `pull ${image}: canceled`);
    }
    if (!this.#isHere(image)) {
      throw missing(image, failure);
    }
    this.#deps.logger.warn(
      { image, error: errorText(failure) },
      'an image was not pulled: the one here is used',
    );
  }

  #isHere(image: string): boolean {
    return this.#deps.images.share(image) !== undefined;
  }

  /** What went wrong; undefined where the image is here as a registry or the managers have it. */
  async #failureOf(
    image: string,
    { auth, isHere, signal }: { auth: string; isHere: boolean; signal: AbortSignal },
  ): Promise<unknown> {
    const key = keyOf(image, auth);
    if (isHere && this.#unanswered.has(key)) {
      return await this.#fromManagers.bring(image, { registry: silence(), signal });
    }
    using pull = this.#pulls.join(key, { isAnswered: false }, (state, stop) =>
      this.#pull(state, { image, auth, signal: stop }),
    );
    const registry = await this.#patiently(pull, signal);
    if (!pull.state.isAnswered && isSilence(registry)) {
      this.#noteUnanswered(key);
    }
    const mayAsk = ID.test(image) || NOT_GIVEN.some((code) => isEngineError(registry, code));
    if (registry === undefined || signal.aborted || !mayAsk) {
      return registry;
    }
    const failure = await this.#fromManagers.bring(image, { registry, signal });
    // Nobody else has it: the registry may have it yet.
    const isWaitedFor = registry === WAITING && failure === registry && !isHere;
    return isWaitedFor ? await pull.outcome(signal) : failure;
  }

  /** `WAITING` where the registry does not answer within `limits.taskPullPatienceMs`. */
  async #patiently(pull: Joined<Pull>, signal: AbortSignal): Promise<unknown> {
    const { clock } = this.#deps;
    let timer: Disposable | undefined;
    const late = new Promise<unknown>((resolve) => {
      timer = clock.setTimeout(() => {
        resolve(pull.state.isAnswered ? pull.outcome(signal) : WAITING);
      }, limits.taskPullPatienceMs);
    });
    try {
      return await Promise.race([pull.outcome(signal), late]);
    } finally {
      timer?.[Symbol.dispose]();
    }
  }

  #noteUnanswered(key: string): void {
    if (!this.#unanswered.has(key)) {
      this.#unanswered.add(key);
      this.#deps.clock.setTimeout(() => this.#unanswered.delete(key), limits.taskPullSilenceMs);
    }
  }

  /** Never rejects. */
  async #pull(
    state: Pull,
    { image, auth, signal }: { image: string; auth: string; signal: AbortSignal },
  ): Promise<unknown> {
    try {
      const options: PullOptions = {
        ...nameAndTag(image),
        auth: auth === '' ? {} : this.#deps.registryAuth(auth),
        signal,
      };
      for await (const { error, id } of this.#deps.images.pull(options)) {
        // What is said while a registry is waited for is of nothing.
        state.isAnswered ||= id !== undefined;
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

function silence(): EngineError {
  return new EngineError(
    'remote',
    `the registry has not answered within ${limits.taskPullPatienceMs / 1000} s`,
  );
}

const WAITING = silence();

function keyOf(image: string, registryAuth: string): string {
  return `${image}\n${registryAuth}`;
}

/** Of a registry that could not be reached, unlike one that has said no. */
function isSilence(failure: unknown): boolean {
  return isEngineError(failure, 'unavailable') || isEngineError(failure, 'remote');
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
