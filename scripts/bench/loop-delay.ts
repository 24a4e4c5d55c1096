import { existsSync, readFileSync, rmSync } from 'node:fs';
import type { TestDaemon } from '../../test/support/engine/daemon.ts';
import { until } from '../../test/support/engine/http.ts';

/** Event-loop delay of berthd since the last reading, without the sampling interval itself. */
export interface LoopDelay {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/**
 * Reads the delays since the last call and starts anew. Where BERTH_LOOP_DELAY_FILE is set berthd watches its event
 * loop, and at each SIGUSR2 writes a `LoopDelay` to that file and resets its histogram.
 */
export async function takeLoopDelay(daemon: TestDaemon): Promise<LoopDelay> {
  const file = daemon.paths.loopDelay;
  rmSync(file, { force: true });
  process.kill(daemon.pid, 'SIGUSR2');
  await until('the event-loop delay of berthd', () => existsSync(file) && readFileSync(file).length > 0);
  const value: LoopDelay = JSON.parse(readFileSync(file, 'utf8'));
  return value;
}
