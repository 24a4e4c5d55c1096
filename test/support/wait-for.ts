import { vi } from 'vitest';
import { WAIT_MS } from './patience.ts';

/** Looks until `look` throws nothing more; what it returns then. Vitest itself waits a second only. */
export function waitFor<T>(look: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(look, { timeout: WAIT_MS, interval: 10 });
}
