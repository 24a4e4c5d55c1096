import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';

/**
 * For steps that are not taken again by other code while this daemon lives (releasing what is no longer used, storing
 * what has happened): takes the step, and again after short pauses while it fails. Such a step must be idempotent.
 * Rejects with its last failure when it never succeeds.
 */
export async function persistently<T>(clock: Clock, step: () => T | Promise<T>): Promise<T> {
  for (const delayMs of limits.retryDelaysMs) {
    try {
      return await step();
    } catch {
      // The last attempt reports: a cause that lasts is still there then.
      await pause(clock, delayMs);
    }
  }
  return step();
}

function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, delayMs);
  });
}
