import { systemClock } from '../../../daemon/base/clock.ts';
import { RateLimits } from '../../../daemon/hub/limits/rate-limits.ts';
import { ShortCounts } from '../../../daemon/hub/limits/short-counts.ts';
import { DEFAULT_RULES } from '../../../daemon/hub/limits/rules.ts';

const CALLERS = 10_000;
const DECISIONS = 100_000;

/** Microseconds of one decision about a request's limits, with ten thousand callers who take turns. */
export function decisionUs(): number {
  const rates = new RateLimits({
    rules: { ...DEFAULT_RULES, pointsPerMinute: 0 },
    facts: {
      isEnterprise: () => false,
      isMember: () => false,
      sizeOf: () => ({ repositories: 1, users: 1 }),
      ownerOf: () => undefined,
    },
    clock: systemClock,
    short: new ShortCounts(() => Date.now()),
  });
  const request = { operation: 'repository.get', method: 'GET', isContent: false, isFree: false };
  const started = performance.now();
  for (let count = 0; count < DECISIONS; count += 1) {
    rates.admit({ kind: 'anonymous', address: `caller-${count % CALLERS}` }, request).done(false, 1);
  }
  return ((performance.now() - started) * 1_000) / DECISIONS;
}
