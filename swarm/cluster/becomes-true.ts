import type { Clock } from '../../daemon/base/clock.ts';
import { limits } from '../../daemon/base/limits.ts';

/** Whether it became true in `limits.swarmCatchUpMs`: a manager may hear later of what the store already has. */
export async function becomesTrue(
  clock: Clock,
  holds: () => boolean,
  stepMs: number = limits.swarmCatchUpStepMs,
): Promise<boolean> {
  const endMs = clock.monotonicMs() + limits.swarmCatchUpMs;
  while (!holds()) {
    if (clock.monotonicMs() >= endMs) {
      return false;
    }
    await new Promise<void>((resolve) => {
      clock.setTimeout(resolve, stepMs);
    });
  }
  return true;
}
