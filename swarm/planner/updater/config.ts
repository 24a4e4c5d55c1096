import type { UpdateConfig } from '../../../api/types/swarm/service.ts';
import type { ServiceRecord, UpdateRecord } from '../../objects/service.ts';

/** How an update goes, with defaults, in milliseconds. */
export interface UpdatePlan {
  /** Slots at a time; all where it was 0. */
  parallelism: number;
  delayMs: number;
  monitorMs: number;
  onFailure: 'pause' | 'continue' | 'rollback';
  maxFailureRatio: number;
  startsFirst: boolean;
}

const NANOS_PER_MS = 1e6;
const MONITOR_NANOS_DEFAULT = 5e9;

/** The configuration that counts: that of updates, or that of rollbacks while one is under way. Pure. */
export function planOf({ spec }: ServiceRecord, update: Pick<UpdateRecord, 'state'>): UpdatePlan {
  const isRollback = update.state.startsWith('rollback');
  const config: UpdateConfig = (isRollback ? spec.RollbackConfig : spec.UpdateConfig) ?? { Parallelism: 1 };
  const onFailure = config.FailureAction ?? 'pause';
  return {
    parallelism: (config.Parallelism ?? 0) === 0 ? Number.POSITIVE_INFINITY : (config.Parallelism ?? 0),
    delayMs: (config.Delay ?? 0) / NANOS_PER_MS,
    monitorMs: (config.Monitor || MONITOR_NANOS_DEFAULT) / NANOS_PER_MS,
    // There is nothing to come back to from a rollback.
    onFailure: isRollback && onFailure === 'rollback' ? 'pause' : onFailure,
    maxFailureRatio: config.MaxFailureRatio ?? 0,
    startsFirst: config.Order === 'start-first',
  };
}

/** How long the tasks are watched after the last slot is done. */
export function watchMs({ delayMs, monitorMs }: UpdatePlan): number {
  return delayMs > monitorMs ? delayMs + 1_000 : monitorMs;
}
