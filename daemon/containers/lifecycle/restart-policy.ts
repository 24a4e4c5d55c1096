import type { RestartPolicy } from '../../../api/types/host-config.ts';
import { limits } from '../../base/limits.ts';

/** What a restart policy looks at when a container ended. */
export interface EndFacts {
  exitCode: number;
  /** Restarts so far by the policy. */
  restartCount: number;
  /** The delay before the run that just ended, 0 when a client started it. */
  lastDelayMs: number;
  upTimeMs: number;
  /** A client stopped or killed it. */
  stopRequested: boolean;
}

/** The delay before the next start, or null to leave the container exited. Pure. */
export function nextRestartDelayMs(policy: RestartPolicy | undefined, end: EndFacts): number | null {
  if (end.stopRequested || !wantsRestart(policy, end)) {
    return null;
  }
  if (end.lastDelayMs === 0 || end.upTimeMs >= limits.restartResetAfterMs) {
    return limits.restartDelayFirstMs;
  }
  return Math.min(end.lastDelayMs * 2, limits.restartDelayMaxMs);
}

function wantsRestart(policy: RestartPolicy | undefined, end: EndFacts): boolean {
  switch (policy?.Name ?? 'no') {
    case 'always':
    case 'unless-stopped':
      return true;
    case 'on-failure': {
      const retriesMax = policy?.MaximumRetryCount ?? 0;
      return end.exitCode !== 0 && (retriesMax === 0 || end.restartCount < retriesMax);
    }
    default:
      return false;
  }
}

/** Whether an ended container is to be started together with the daemon. */
export function startsWithDaemon(policy: RestartPolicy | undefined, userStopped: boolean): boolean {
  return policy?.Name === 'always' || (policy?.Name === 'unless-stopped' && !userStopped);
}
