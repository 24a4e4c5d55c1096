import type { TargetGroup } from '../groups/target-group.ts';
import type { Target, TargetHealth, TargetStatus } from './target.ts';

/** What a target's status is told from. */
export interface TargetFacts {
  group: Pick<TargetGroup, 'type' | 'config'>;
  /** Whether a listener forwards to the group. */
  isUsed: boolean;
  target: Target;
  health: TargetHealth | undefined;
}

/**
 * The status of a target as clients see it. Without checks nobody knows how a target is: it is UNAVAILABLE, and gets
 * traffic. Checks run in a group that nothing forwards to as well, but what they find counts once one does: a target
 * is UNUSED until then, as in the original. Pure.
 */
export function targetStatus({ group, isUsed, target, health }: TargetFacts): {
  status: TargetStatus;
  reasonCode?: string;
} {
  if (target.drainingMs !== undefined) {
    return { status: 'DRAINING' };
  }
  if (!isUsed) {
    return { status: 'UNUSED', reasonCode: 'TargetGroupNotInUse' };
  }
  if (group.config.healthCheck?.enabled !== true) {
    return { status: 'UNAVAILABLE', reasonCode: 'HealthCheckDisabled' };
  }
  if (health === undefined) {
    return { status: 'INITIAL', reasonCode: 'InitialHealthCheck' };
  }
  const { status, reasonCode } = health;
  return { status, ...(reasonCode !== undefined && { reasonCode }) };
}
