import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 5;
const NANOS_PER_MS = 1e6;

/**
 * The telling figure of a Node.js daemon, for `npm run bench`: with BERTH_LOOP_DELAY_FILE set, each SIGUSR2 writes the
 * event loop's delays since the last one to that file, in milliseconds beyond the interval. The caller begins to watch
 * when the daemon is ready: before, no client is served, and that time is a figure of its own.
 */
export function loopDelayWatch(file: string | undefined): () => void {
  if (file === undefined) {
    return () => {};
  }
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const beyond = (nanos: number): number => Math.max(0, nanos / NANOS_PER_MS - RESOLUTION_MS);
  process.on('SIGUSR2', () => {
    const delays = {
      p50Ms: beyond(histogram.percentile(50)),
      p99Ms: beyond(histogram.percentile(99)),
      maxMs: beyond(histogram.max),
    };
    histogram.reset();
    writeFileSync(file, JSON.stringify(delays));
  });
  return () => histogram.enable();
}
