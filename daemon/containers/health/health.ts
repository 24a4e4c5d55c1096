import { limits } from '../../base/limits.ts';
import type { HealthCheck } from './check.ts';

/** What a container's health check has found so far; part of its state, plain JSON. */
export interface Health {
  status: 'starting' | 'healthy' | 'unhealthy';
  /** Failures in a row. */
  failingStreak: number;
  /** The last results, oldest first. */
  log: readonly ProbeResult[];
}

/** One probe. Times are RFC 3339, as inspect shows them. */
export interface ProbeResult {
  start: string;
  end: string;
  /** 0 = healthy; -1 = it could not be run or took too long. */
  exitCode: number;
  output: string;
}

export const NEW_HEALTH: Health = { status: 'starting', failingStreak: 0, log: [] };

/**
 * The health after one more probe, which began `upNano` after the container did. Pure. A failure within the start
 * period does not count as long as no probe has succeeded.
 */
export function healthAfter(health: Health, check: HealthCheck, result: ProbeResult, upNano: number): Health {
  const log = [...health.log, result].slice(-limits.healthResultsKept);
  if (result.exitCode === 0) {
    return { status: 'healthy', failingStreak: 0, log };
  }
  if (health.status === 'starting' && upNano < check.startPeriodNano) {
    return { ...health, log };
  }
  const failingStreak = health.failingStreak + 1;
  return { status: failingStreak >= check.retries ? 'unhealthy' : health.status, failingStreak, log };
}

/** As dockerd shows a container that no longer runs: whatever the probes found, it does not serve. */
export function afterEnd(health: Health): Health {
  return { ...health, status: 'unhealthy' };
}

/** Nanoseconds from the end of one probe, or the start of the container `upNano` ago, to the next. Pure. */
export function pauseBeforeProbe(check: HealthCheck, health: Health, upNano: number): number {
  const isStarting = health.status === 'starting' && upNano < check.startPeriodNano;
  return isStarting ? check.startIntervalNano : check.intervalNano;
}

/** The part of a pause that a container waits after the daemon's start: the probes of many are spread over it. Pure. */
export function spread(pauseNano: number, containerId: string): number {
  return (pauseNano * Number.parseInt(containerId.slice(0, 8), 16)) / 2 ** 32;
}
