import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import { Collection } from '../../records/collection.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { Token } from './token.ts';

interface Deps {
  mirror: Mirror;
  clock: Clock;
  log: Logger;
  /** Whether a token is over or leads to nobody, and nobody wants to see it in a list either. */
  isDead(token: Token): boolean;
}

/** Removes tokens that serve nobody, now and then: programs make some every hour. */
export class TokenSweep implements Disposable {
  readonly #deps: Deps;
  readonly #tokens: Collection<Token>;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#tokens = new Collection(deps.mirror, 'token/');
    this.#later();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #later(): void {
    if (!this.#isClosed) {
      this.#timer = this.#deps.clock.setTimeout(() => {
        void this.#turn().catch((error: unknown) => {
          this.#deps.log.error({ err: error }, 'tokens that are over are removed no more');
        });
      }, limits.hubSweepMs);
    }
  }

  /** Never rejects: what the disk refuses is removed at another time. */
  async #turn(): Promise<void> {
    try {
      await this.#sweep();
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error) }, 'tokens that are over were not removed');
    }
    this.#later();
  }

  /** Some of them: the others at the next times. */
  async #sweep(): Promise<void> {
    failpoint('hub.tokens.sweep');
    await this.#deps.mirror.change(() => ({
      changes: this.#tokens
        .all()
        .filter((token) => this.#deps.isDead(token))
        .slice(0, limits.hubChangesAtOnce)
        .map(({ hash }) => this.#tokens.delete(hash)),
      answer: undefined,
    }));
  }
}
