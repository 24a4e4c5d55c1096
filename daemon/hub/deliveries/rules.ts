import { isSuccess, type Outcome } from './delivery.ts';
import type { Intent } from './intent.ts';

/** Settings of deliveries. */
export interface DeliveryRules {
  /** How often a delivery that failed is sent again by itself; 0 = never, as GitHub. */
  retries: number;
  /** Failures in a row after which a hook is switched off; 0 = never, as GitHub. */
  switchOffAfter: number;
}

/** As GitHub: who receives hooks has built for it, and a delivery that comes twice by itself surprises. */
export const DEFAULT_DELIVERY_RULES: DeliveryRules = { retries: 0, switchOffAfter: 0 };

const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;

/** When a delivery is sent again: a minute after the first failure, then twice as long each time. Null = not. Pure. */
export function nextAttemptMs(
  { attempt, news }: Pick<Intent, 'attempt' | 'news'>,
  outcome: Outcome,
  { retries }: DeliveryRules,
  nowMs: number,
): number | null {
  const isTriedAgain = !isSuccess(outcome) && attempt < retries && news.kind !== 'again';
  return isTriedAgain ? nowMs + Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS) : null;
}
