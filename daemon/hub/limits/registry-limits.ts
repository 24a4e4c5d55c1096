import type { RegistryResource } from '../../../api/types/hub/registry.ts';
import type { HubRateStatus } from '../../../api/types/hub/rate.ts';
import type { Clock } from '../../base/clock.ts';
import type { Caller } from '../identity/caller.ts';
import { refusal } from '../registry/refusal.ts';
import { keyOf } from './quotas.ts';
import { toStatus } from './rate-limits.ts';
import type { RateRules } from './rules.ts';
import type { ShortCounts } from './short-counts.ts';

const RESOURCES: readonly RegistryResource[] = ['registry_pull', 'registry_push'];

/** Counts pulls and pushes of the registry by the minute (seed 001 section 8: the bucket for large files). */
export class RegistryLimits {
  readonly #rules: RateRules;
  readonly #clock: Clock;
  readonly #short: ShortCounts;
  readonly #told: (caller: string, limit: string) => void;

  constructor({
    rules,
    clock,
    short,
    told = () => undefined,
  }: {
    rules: RateRules;
    clock: Clock;
    short: ShortCounts;
    /** As of `RateLimits`. */
    told?: ((caller: string, limit: string) => void) | undefined;
  }) {
    this.#told = told;
    this.#rules = rules;
    this.#clock = clock;
    this.#short = short;
  }

  /** Counts one request. Undefined = this caller has no limit. Throws TOOMANYREQUESTS with `retryAfterS`. */
  admit(caller: Caller, resource: RegistryResource): HubRateStatus | undefined {
    const [key, limit] = [keyOf(caller), this.#limitOf(caller)];
    if (key === undefined || limit === 0) {
      return undefined;
    }
    const nowMs = this.#nowMs();
    const state = this.#short.use(resource, key, 1);
    const status = toStatus(limit, state);
    if (state.used > limit) {
      this.#told(key, `${resource} of a minute`);
      throw refusal('TOOMANYREQUESTS', `too many requests: ${limit} a minute of ${resource} are used up`, {
        details: { rate: status, retryAfterS: Math.max(1, Math.ceil((state.resetMs - nowMs) / 1000)) },
      });
    }
    return status;
  }

  /** By resource; empty = this caller has no limit. */
  statuses(caller: Caller): Partial<Record<RegistryResource, HubRateStatus>> {
    const [key, limit] = [keyOf(caller), this.#limitOf(caller)];
    if (key === undefined || limit === 0) {
      return {};
    }
    return Object.fromEntries(
      RESOURCES.map((resource) => [resource, toStatus(limit, this.#short.state(resource, key))]),
    );
  }

  #limitOf(caller: Caller): number {
    return caller.kind === 'anonymous'
      ? this.#rules.registryAnonymousPerMinute
      : this.#rules.registryUserPerMinute;
  }

  #nowMs(): number {
    return Number(this.#clock.nowNano() / 1_000_000n);
  }
}
