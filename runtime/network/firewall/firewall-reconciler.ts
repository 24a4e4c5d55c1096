import type { Clock } from '../../../daemon/base/clock.ts';
import { errorText } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { RulesetWatch } from './ruleset-watch.ts';

export interface KeeperDeps {
  /** Makes the tables whole; nearly free when only we ourselves have changed anything. */
  mend: () => void;
  watch: (changed: () => void) => RulesetWatch;
  clock: Clock;
  log: Logger;
}

/**
 * Has the firewall mended as soon as another program has changed it: at once after a quiet time, and under a stream of
 * changes so seldom that it costs a tenth of a processor. Besides, it looks from time to time by itself.
 */
export class FirewallReconciler implements Disposable {
  readonly #deps: KeeperDeps;
  readonly #watch: RulesetWatch | undefined;
  #rest: Disposable | undefined;
  #check: Disposable | undefined;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
    this.#watch = this.#watched();
    this.#watch?.listen();
    this.#checkLater(true);
  }

  [Symbol.dispose](): void {
    this.#watch?.[Symbol.dispose]();
    this.#rest?.[Symbol.dispose]();
    this.#check?.[Symbol.dispose]();
  }

  #watched(): RulesetWatch | undefined {
    try {
      return this.#deps.watch(() => this.#changed());
    } catch (error) {
      this.#deps.log.warn(
        { err: errorText(error), everyMs: limits.firewallPollMs },
        'the kernel does not tell of changes of the firewall; it is looked at from time to time instead',
      );
      return undefined;
    }
  }

  /** What is changed while it rests, the kernel tells when it listens again. */
  #changed(): void {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    this.#look();
    const restMs = limits.firewallRestFactor * (clock.monotonicMs() - startMs);
    this.#rest = clock.setTimeout(
      () => this.#watch?.listen(),
      Math.min(Math.max(restMs, limits.firewallRestMs), limits.firewallPollMs),
    );
  }

  #look(): void {
    let isDone = true;
    try {
      this.#deps.mend();
    } catch (error) {
      isDone = false;
      this.#deps.log.error({ err: error }, 'the firewall could not be mended');
    }
    this.#checkLater(isDone);
  }

  #checkLater(isDone: boolean): void {
    const isQuiet = isDone && this.#watch !== undefined;
    this.#check?.[Symbol.dispose]();
    this.#check = this.#deps.clock.setTimeout(
      () => this.#look(),
      isQuiet ? limits.firewallCheckMs : limits.firewallPollMs,
    );
  }
}
