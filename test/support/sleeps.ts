import { readFileSync } from 'node:fs';

/**
 * How often the thread gave the processor away so far, to wait for something. When it was taken from it does not count,
 * so it says what waits on a busy machine too.
 */
export function sleeps(): number {
  const status = readFileSync('/proc/thread-self/status', 'utf8');
  return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1]);
}
