import type { HubAdmission, LimitedHubRequest } from '../../../api/types/hub/ports.ts';
import type { HubRateStatus } from '../../../api/types/hub/rate.ts';
import type { Clock } from '../../base/clock.ts';
import { EngineError, unreachable } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Caller } from '../identity/caller.ts';
import { pointsOf, type RateRules } from './rules.ts';
import { Windows, type WindowState } from './windows.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Counts requests and refuses those that are too many. A decision is a few look-ups in memory. Refusals are `forbidden`
 * with the details `rate` (a `HubRateStatus`) and, for secondary limits, `retryAfterS`.
 */
export class RateLimits {
  readonly #rules: RateRules;
  readonly #clock: Clock;
  readonly #hours = new Windows({ lengthMs: HOUR_MS, keysMax: limits.hubLimitedCallersMax });
  readonly #contentHours = new Windows({ lengthMs: HOUR_MS, keysMax: limits.hubLimitedCallersMax });
  readonly #contentMinutes = new Windows({ lengthMs: MINUTE_MS, keysMax: limits.hubLimitedCallersMax });
  readonly #points = new Windows({ lengthMs: MINUTE_MS, keysMax: limits.hubLimitedCallersMax });
  readonly #running = new Map<string, number>();
  /** Callers whose hours were counted since they were last taken. */
  #counted = new Set<string>();

  constructor(deps: { rules: RateRules; clock: Clock }) {
    this.#rules = deps.rules;
    this.#clock = deps.clock;
  }

  /** Throws forbidden. What is refused is counted by the hour all the same, as clients must not ask on. */
  admit(caller: Caller, request: LimitedHubRequest): HubAdmission {
    const key = keyOf(caller);
    if (key === undefined) {
      return { status: undefined, done: () => undefined };
    }
    const nowMs = this.#nowMs();
    this.#refuseHour(caller, key, request, nowMs);
    this.#refuseSecondary(key, request, nowMs);
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1);
    let isDone = false;
    return {
      status: this.status(caller),
      done: (isUnchanged) => {
        if (!isDone) {
          isDone = true;
          this.#release(key);
          if (isUnchanged && !request.isFree) {
            this.#count(key, -1, this.#nowMs());
          }
        }
      },
    };
  }

  /** Of the hour; undefined = this caller has no limit. */
  status(caller: Caller): HubRateStatus | undefined {
    const key = keyOf(caller);
    const limit = this.#limitOf(caller);
    if (key === undefined || limit === 0) {
      return undefined;
    }
    return toStatus(limit, this.#hours.state(key, this.#nowMs()));
  }

  /** The hours that changed since the last call, to be kept across a restart. */
  takeCounted(): { key: string; state: WindowState }[] {
    const nowMs = this.#nowMs();
    const taken = [...this.#counted].map((key) => ({ key, state: this.#hours.state(key, nowMs) }));
    this.#counted = new Set();
    return taken;
  }

  restore(key: string, state: WindowState): void {
    this.#hours.restore(key, state, this.#nowMs());
  }

  #refuseHour(caller: Caller, key: string, { isFree }: LimitedHubRequest, nowMs: number): void {
    const limit = this.#limitOf(caller);
    if (isFree || limit === 0) {
      return;
    }
    const isOver = this.#hours.state(key, nowMs).used >= limit;
    const state = this.#count(key, 1, nowMs);
    if (isOver) {
      throw new EngineError('forbidden', primaryText(caller), { details: { rate: toStatus(limit, state) } });
    }
  }

  #refuseSecondary(key: string, { operation, method, isContent }: LimitedHubRequest, nowMs: number): void {
    const { concurrent, pointsPerMinute, contentPerMinute, contentPerHour } = this.#rules;
    if (concurrent > 0 && (this.#running.get(key) ?? 0) >= concurrent) {
      throw secondary('', limits.hubRetryAfterS);
    }
    const used = [
      this.#used(this.#points, `${key} ${operation}`, pointsOf(method), pointsPerMinute, nowMs),
      ...(isContent
        ? [
            this.#used(this.#contentMinutes, key, 1, contentPerMinute, nowMs),
            this.#used(this.#contentHours, key, 1, contentPerHour, nowMs),
          ]
        : []),
    ];
    const over = used.filter(({ isOver }) => isOver);
    if (over.length > 0) {
      const text = isContent ? ' and have been temporarily blocked from content creation' : '';
      throw secondary(text, Math.ceil((Math.max(...over.map(({ resetMs }) => resetMs)) - nowMs) / 1000));
    }
  }

  #used(windows: Windows, key: string, amount: number, limit: number, nowMs: number) {
    if (limit === 0) {
      return { isOver: false, resetMs: 0 };
    }
    const { used, resetMs } = windows.use(key, amount, nowMs);
    return { isOver: used > limit, resetMs };
  }

  #count(key: string, amount: number, nowMs: number): WindowState {
    this.#counted.add(key);
    return this.#hours.use(key, amount, nowMs);
  }

  #release(key: string): void {
    const running = (this.#running.get(key) ?? 1) - 1;
    if (running === 0) {
      this.#running.delete(key);
    } else {
      this.#running.set(key, running);
    }
  }

  #limitOf(caller: Caller): number {
    return caller.kind === 'anonymous' ? this.#rules.anonymousPerHour : this.#rules.userPerHour;
  }

  #nowMs(): number {
    return Number(this.#clock.nowNano() / 1_000_000n);
  }
}

/** Undefined for root, who has no limits. */
function keyOf(caller: Caller): string | undefined {
  switch (caller.kind) {
    case 'root':
      return undefined;
    case 'anonymous':
      return `address/${caller.address}`;
    case 'user':
      return `user/${caller.user.id}`;
    default:
      return unreachable(caller);
  }
}

function toStatus(limit: number, { used, resetMs }: WindowState): HubRateStatus {
  return {
    limit,
    used: Math.min(used, limit),
    remaining: Math.max(0, limit - used),
    reset: Math.ceil(resetMs / 1000),
  };
}

function primaryText(caller: Caller): string {
  return caller.kind === 'anonymous'
    ? `API rate limit exceeded for ${caller.address}. (But here's the good news: Authenticated requests get a higher ` +
        'rate limit. Check out the documentation for more details.)'
    : `API rate limit exceeded for user ID ${caller.kind === 'user' ? caller.user.id : 0}.`;
}

/** Clients know this limit by the words "secondary rate limit". */
function secondary(text: string, retryAfterS: number): EngineError {
  return new EngineError(
    'forbidden',
    `You have exceeded a secondary rate limit${text}. Please wait a few minutes before you try again.`,
    { details: { retryAfterS } },
  );
}
