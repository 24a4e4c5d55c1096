import type { HubAdmission, LimitedHubRequest } from '../../../api/types/hub/ports.ts';
import type { HubRateStatus } from '../../../api/types/hub/rate.ts';
import type { Clock } from '../../base/clock.ts';
import { EngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { nameOf, userOf, type Caller } from '../identity/caller.ts';
import { keyOf, quotaOf, type RateFacts } from './quotas.ts';
import { pointsOf, type RateRules } from './rules.ts';
import type { Counted } from './counted.ts';
import { SharedWindows } from './shared-windows.ts';
import type { ShortCounts, ShortLimit } from './short-counts.ts';
import type { WindowState } from './windows.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Counts requests and refuses those that are too many. A decision is a few look-ups in memory. Refusals are `forbidden`
 * with the details `rate` (a `HubRateStatus`) and, for secondary limits, `retryAfterS`.
 */
export class RateLimits implements Counted<WindowState> {
  readonly prefix = 'limit/';
  readonly #rules: RateRules;
  readonly #facts: RateFacts;
  readonly #clock: Clock;
  readonly #hours = new SharedWindows({ lengthMs: HOUR_MS, keysMax: limits.hubLimitedCallersMax });
  readonly #short: ShortCounts;
  /** Limits of installations, which take counting to know, and until when they are believed. */
  readonly #quotas = new Map<string, { quota: number; untilMs: number }>();
  readonly #told: (caller: string, limit: string) => void;
  readonly #running = new Map<string, number>();
  /** Callers whose hours were counted since they were last taken. */
  #counted = new Set<string>();

  constructor(deps: {
    rules: RateRules;
    facts: RateFacts;
    clock: Clock;
    short: ShortCounts;
    /** Of each refusal: by what the caller is counted, and which limit is exceeded. */
    told?: (caller: string, limit: string) => void;
  }) {
    this.#told = deps.told ?? (() => undefined);
    this.#rules = deps.rules;
    this.#short = deps.short;
    this.#facts = deps.facts;
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
      done: (isUnchanged, processorMs = 0) => {
        if (!isDone) {
          isDone = true;
          this.#release(key);
          if (processorMs > 0 && this.#rules.processorPerMinute > 0) {
            this.#short.use('processor', key, processorMs);
          }
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
    const limit = key === undefined ? 0 : this.#quota(caller, key);
    if (key === undefined || limit === 0) {
      return undefined;
    }
    return toStatus(limit, this.#hours.state(key, this.#nowMs()));
  }

  /** The hours of this host that changed since the last call. */
  take(): { key: string; state: WindowState }[] {
    const nowMs = this.#nowMs();
    const taken = [...this.#counted].map((key) => ({ key, state: this.#hours.own(key, nowMs) }));
    this.#counted = new Set();
    return taken;
  }

  restore(key: string, state: WindowState): void {
    this.#hours.restore(key, state, this.#nowMs());
  }

  tell(host: string, key: string, state: WindowState | undefined): void {
    this.#hours.tell(host, key, state);
  }

  endsMs({ resetMs }: WindowState): number {
    return resetMs;
  }

  #refuseHour(caller: Caller, key: string, { isFree }: LimitedHubRequest, nowMs: number): void {
    const limit = this.#quota(caller, key);
    if (isFree || limit === 0) {
      return;
    }
    const isOver = this.#hours.state(key, nowMs).used >= limit;
    const state = this.#count(key, 1, nowMs);
    if (isOver) {
      this.#told(key, 'requests of an hour');
      throw new EngineError('forbidden', primaryText(caller), { details: { rate: toStatus(limit, state) } });
    }
  }

  #refuseSecondary(key: string, { operation, method, isContent }: LimitedHubRequest, nowMs: number): void {
    const { concurrent, pointsPerMinute, contentPerMinute, contentPerHour, processorPerMinute } = this.#rules;
    if (concurrent > 0 && (this.#running.get(key) ?? 0) >= concurrent) {
      this.#told(key, 'requests at a time');
      throw secondary('', limits.hubRetryAfterS);
    }
    const worked = this.#short.state('processor', key);
    if (processorPerMinute > 0 && worked.used >= processorPerMinute * 1000) {
      this.#told(key, 'processor time of a minute');
      throw secondary(' of processor time', Math.ceil((worked.resetMs - nowMs) / 1000));
    }
    const used = [
      this.#used('points', `${key}/${operation}`, pointsOf(method), pointsPerMinute),
      ...(isContent
        ? [
            this.#used('content', key, 1, contentPerMinute),
            this.#used('content-of-hour', key, 1, contentPerHour),
          ]
        : []),
    ];
    const over = used.filter(({ isOver }) => isOver);
    if (over.length > 0) {
      this.#told(key, isContent ? 'what is made in a minute or an hour' : 'points of a minute');
      const text = isContent ? ' and have been temporarily blocked from content creation' : '';
      throw secondary(text, Math.ceil((Math.max(...over.map(({ resetMs }) => resetMs)) - nowMs) / 1000));
    }
  }

  #used(name: ShortLimit, key: string, amount: number, limit: number) {
    if (limit === 0) {
      return { isOver: false, resetMs: 0 };
    }
    const { used, resetMs } = this.#short.use(name, key, amount);
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

  #quota(caller: Caller, key: string): number {
    if (caller.kind !== 'installation') {
      return quotaOf(caller, this.#rules, this.#facts);
    }
    const nowMs = this.#nowMs();
    const known = this.#quotas.get(key);
    if (known !== undefined && known.untilMs > nowMs) {
      return known.quota;
    }
    if (this.#quotas.size >= limits.hubQuotasRemembered) {
      this.#quotas.clear();
    }
    const quota = quotaOf(caller, this.#rules, this.#facts);
    this.#quotas.set(key, { quota, untilMs: nowMs + MINUTE_MS });
    return quota;
  }

  #nowMs(): number {
    return Number(this.#clock.nowNano() / 1_000_000n);
  }
}

export function toStatus(limit: number, { used, resetMs }: WindowState): HubRateStatus {
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
    : `API rate limit exceeded for ${countedName(caller)}.`;
}

function countedName(caller: Caller): string {
  const user = userOf(caller);
  if (user !== undefined) {
    return `user ID ${user.id}`;
  }
  return caller.kind === 'installation' ? `installation ID ${caller.installation.id}` : nameOf(caller);
}

/** Clients know this limit by the words "secondary rate limit". */
function secondary(text: string, retryAfterS: number): EngineError {
  return new EngineError(
    'forbidden',
    `You have exceeded a secondary rate limit${text}. Please wait a few minutes before you try again.`,
    { details: { retryAfterS } },
  );
}
