import type { Clock } from '../clock.ts';

/** Resolves after a time, or when the signal comes. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer[Symbol.dispose]();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.setTimeout(done, delayMs);
    signal.addEventListener('abort', done);
    if (signal.aborted) {
      done();
    }
  });
}
