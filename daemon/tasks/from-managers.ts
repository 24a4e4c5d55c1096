import type { OfferedImage } from '../../swarm/images/ports.ts';
import { EngineError, errorText } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { limits } from '../base/limits.ts';
import type { TaskDeps } from './ports.ts';
import { SharedWork } from './shared-work.ts';

type Deps = Pick<TaskDeps, 'images' | 'managers' | 'clock'>;

/** Images that no registry gives, from the managers of the swarm. Tasks that want the same share one transfer. */
export class FromManagers {
  readonly #deps: Deps;
  readonly #transfers: SharedWork<{ hasNone: boolean }>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#transfers = new SharedWork(deps.clock, limits.taskPullFreshMs);
  }

  /**
   * Resolves when the image is here as the managers have it. What went wrong: what the registry said, where no manager
   * has it; with what a manager said, where one has it and it did not come.
   */
  async bring(
    image: string,
    { registry, signal }: { registry: unknown; signal: AbortSignal },
  ): Promise<unknown> {
    using transfer = this.#transfers.join(image, { hasNone: false }, (state, stop) =>
      this.#bring(state, image, stop),
    );
    const failure = await transfer.outcome(signal);
    if (failure === undefined) {
      return transfer.state.hasNone ? registry : undefined;
    }
    const text = `${errorText(registry)}; from a manager: ${errorText(failure)}`;
    return new EngineError('not_found', text, { cause: failure });
  }

  /** Never rejects. */
  async #bring(state: { hasNone: boolean }, image: string, signal: AbortSignal): Promise<unknown> {
    const { images, managers } = this.#deps;
    try {
      const offers = await managers.find(image, signal);
      const best = newest(images.share(image), offers);
      if (best === undefined) {
        state.hasNone = offers.length === 0;
        return undefined;
      }
      failpoint('tasks.images.receive');
      await images.receive(image, best, { signal });
      return undefined;
    } catch (error) {
      return error;
    }
  }
}

/**
 * The image that was given its name last; undefined where that is the one here. All nodes choose the same one. Pure.
 */
function newest(
  here: { id: string; taggedNano: bigint } | undefined,
  [offer]: readonly OfferedImage[],
): OfferedImage | undefined {
  const isBetter =
    here === undefined || (offer !== undefined && offer.id !== here.id && offer.taggedNano > here.taggedNano);
  return isBetter ? offer : undefined;
}
