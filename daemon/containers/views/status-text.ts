import { unreachable } from '../../base/errors.ts';
import type { Health } from '../health/health.ts';
import type { ContainerState } from '../state/state.ts';
import { lastRun } from '../state/state-facts.ts';

const NANOS_PER_SECOND = 1_000_000_000n;

/** The `Status` sentence of the list: `Up 3 seconds`, `Exited (0) 2 hours ago`, ... Pure. */
export function statusText(state: ContainerState, nowNano: bigint): string {
  const ago = (since: bigint): string => humanDuration(Number((nowNano - since) / NANOS_PER_SECOND));
  switch (state.status) {
    case 'running':
      return `Up ${ago(state.startedAtNano)}${healthText(state.health)}`;
    case 'paused':
      return `Up ${ago(state.startedAtNano)} (Paused)`;
    case 'restarting':
      return `Restarting (${state.exitCode}) ${ago(state.finishedAtNano)} ago`;
    case 'exited':
      return `Exited (${lastRun(state).exitCode}) ${ago(state.finishedAtNano)} ago`;
    case 'created':
      return 'Created';
    case 'starting':
      return statusText(state.from, nowNano);
    case 'removing':
      return 'Removal In Progress';
    case 'dead':
      return 'Dead';
    default:
      return unreachable(state);
  }
}

function healthText(health: Health | undefined): string {
  if (health === undefined) {
    return '';
  }
  return health.status === 'starting' ? ' (health: starting)' : ` (${health.status})`;
}

/** A duration the way the docker CLI and its users know it: one unit, rounded as people round. */
export function humanDuration(seconds: number): string {
  if (seconds < 1) {
    return 'Less than a second';
  }
  if (seconds < 60) {
    return seconds === 1 ? '1 second' : `${seconds} seconds`;
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) {
    return minutes === 1 ? 'About a minute' : `${minutes} minutes`;
  }
  // From here on the unit is the rounded hour: 90 minutes are "2 hours".
  const hours = Math.floor(seconds / 3600 + 0.5);
  if (hours === 1) {
    return 'About an hour';
  }
  const steps: readonly [belowHours: number, hoursPerUnit: number, unit: string][] = [
    [48, 1, 'hours'],
    [24 * 7 * 2, 24, 'days'],
    [24 * 30 * 2, 24 * 7, 'weeks'],
    [24 * 365 * 2, 24 * 30, 'months'],
    [Number.POSITIVE_INFINITY, 24 * 365, 'years'],
  ];
  const [, hoursPerUnit, unit] = steps.find(([belowHours]) => hours < belowHours) ?? [0, 1, 'hours'];
  return `${Math.floor(hours / hoursPerUnit)} ${unit}`;
}
