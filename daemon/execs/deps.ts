import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ExecRuntime, ExecTargets } from './ports.ts';

/** What the execs are made with. */
export interface ExecsDeps {
  targets: ExecTargets;
  runtime: ExecRuntime;
  clock: Clock;
  log: Logger;
}
