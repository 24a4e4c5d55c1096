import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Records } from '../records/port.ts';
import type { RateLimits } from './rate-limits.ts';
import type { WindowState } from './windows.ts';

interface Deps {
  records: Records;
  clock: Clock;
  log: Logger;
  rates: RateLimits;
}

/**
 * Keeps what was counted by the hour across restarts. It is written behind the answers: a daemon that is killed forgets
 * the last `limits.hubLimitsKeptMs` of it. Records `limit/<caller>`.
 */
export class KeptLimits implements Disposable {
  readonly #deps: Deps;
  /** What is in the records, and when it says nothing more. */
  readonly #kept = new Map<string, number>();
  /** To be written: also what the records refused before. */
  readonly #unwritten = new Map<string, WindowState>();
  #timer: Disposable | undefined;
  #isClosed = false;

  /** Takes over what is kept. Throws what the records throw. */
  static async open(deps: Deps): Promise<KeptLimits> {
    const kept = new KeptLimits(deps);
    for (let after = ''; ;) {
      const { records } = await deps.records.list(PREFIX, { after });
      const last = records.at(-1);
      if (last === undefined) {
        break;
      }
      after = last.key;
      for (const { key, value } of records) {
        // Written by this class alone.
        const state = value as WindowState;
        const caller = key.slice(PREFIX.length);
        deps.rates.restore(caller, state);
        kept.#kept.set(caller, state.resetMs);
      }
    }
    kept.#later();
    return kept;
  }

  private constructor(deps: Deps) {
    this.#deps = deps;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #later(): void {
    if (!this.#isClosed) {
      this.#timer = this.#deps.clock.setTimeout(() => {
        void this.#turn().catch((error: unknown) => {
          this.#deps.log.error({ err: error }, 'limits of the hub are kept no more');
        });
      }, limits.hubLimitsKeptMs);
    }
  }

  async #turn(): Promise<void> {
    await this.#write();
    this.#later();
  }

  /** Never rejects: a full disk must not keep the hub from answering. */
  async #write(): Promise<void> {
    const { rates, log } = this.#deps;
    for (const { key, state } of rates.takeCounted()) {
      this.#unwritten.set(key, state);
    }
    try {
      while (this.#unwritten.size > 0) {
        await this.#put([...this.#unwritten].slice(0, limits.hubChangesAtOnce));
      }
      await this.#forgetEnded();
    } catch (error) {
      log.warn({ reason: errorText(error) }, 'what was counted of the limits of the hub was not kept');
    }
  }

  async #put(some: readonly (readonly [string, WindowState])[]): Promise<void> {
    failpoint('hub.limits.keep');
    await this.#deps.records.update(
      some.map(([key, state]) => ({ kind: 'put', key: PREFIX + key, value: { ...state } })),
      { mayBeLost: true },
    );
    for (const [key, { resetMs }] of some) {
      this.#unwritten.delete(key);
      this.#kept.set(key, resetMs);
    }
  }

  /** Some of the windows that have ended: the others at the next times. */
  async #forgetEnded(): Promise<void> {
    const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
    const ended = [...this.#kept]
      .filter(([, resetMs]) => resetMs <= nowMs)
      .map(([key]) => key)
      .slice(0, limits.hubChangesAtOnce);
    if (ended.length === 0) {
      return;
    }
    await this.#deps.records.update(ended.map((key) => ({ kind: 'delete', key: PREFIX + key })));
    ended.forEach((key) => this.#kept.delete(key));
  }
}

const PREFIX = 'limit/';
