import type { HealthCheck } from '../groups/target-group.ts';
import type { TargetHealth } from '../registrations/target.ts';

/** What the checks of one target have come to so far. */
export interface Verdict {
  /** Undefined: not enough checks yet. */
  status: TargetHealth['status'] | undefined;
  /** Checks in a row that contradict the status, or failed ones before there is one. */
  inARow: number;
}

type Thresholds = Pick<HealthCheck, 'healthyThresholdCount' | 'unhealthyThresholdCount'>;

/**
 * The verdict after one more check. One success makes a new target healthy; after that a status changes when as many
 * checks in a row as its threshold contradict it. Pure.
 */
export function nextVerdict({ status, inARow }: Verdict, isPassed: boolean, thresholds: Thresholds): Verdict {
  if (isPassed) {
    const isEnough = status === undefined || inARow + 1 >= thresholds.healthyThresholdCount;
    return status === 'UNHEALTHY' && !isEnough
      ? { status, inARow: inARow + 1 }
      : { status: 'HEALTHY', inARow: 0 };
  }
  return status !== 'UNHEALTHY' && inARow + 1 < thresholds.unhealthyThresholdCount
    ? { status, inARow: inARow + 1 }
    : { status: 'UNHEALTHY', inARow: 0 };
}
