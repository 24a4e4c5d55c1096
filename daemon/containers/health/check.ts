import type { ContainerConfig } from '../../../api/types/container.ts';

/** A health check with every default filled in. Times in nanoseconds, as the API has them. */
export interface HealthCheck {
  /** The command with its arguments. */
  args: string[];
  intervalNano: number;
  timeoutNano: number;
  /** Failures within this time after the start do not count while the container has never been healthy. */
  startPeriodNano: number;
  /** Between two probes in the start period. */
  startIntervalNano: number;
  /** Failures in a row that make it unhealthy. */
  retries: number;
}

/** Defaults of dockerd (moby daemon/health.go). */
const INTERVAL_NANO = 30e9;
const TIMEOUT_NANO = 30e9;
const START_INTERVAL_NANO = 5e9;
const RETRIES = 3;
const SHELL = ['/bin/sh', '-c'];

/** The check of a configuration that create has accepted; undefined when it has none. Pure. */
export function healthCheckOf({ Healthcheck, Shell }: ContainerConfig): HealthCheck | undefined {
  const [kind, ...words] = Healthcheck?.Test ?? [];
  if (!Healthcheck || (kind !== 'CMD' && kind !== 'CMD-SHELL')) {
    return undefined;
  }
  const shell = Shell && Shell.length > 0 ? Shell : SHELL;
  return {
    args: kind === 'CMD' ? words : [...shell, ...words],
    intervalNano: Healthcheck.Interval || INTERVAL_NANO,
    timeoutNano: Healthcheck.Timeout || TIMEOUT_NANO,
    startPeriodNano: Healthcheck.StartPeriod ?? 0,
    startIntervalNano: Healthcheck.StartInterval || START_INTERVAL_NANO,
    retries: Healthcheck.Retries || RETRIES,
  };
}

/** For timers, which take whole milliseconds. */
export function toTimerMs(nano: number): number {
  return Math.ceil(nano / 1e6);
}
