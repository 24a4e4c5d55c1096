import type { ContainerStatus } from '../../../api/types/container.ts';
import { unreachable } from '../../base/errors.ts';
import type { Health } from '../health/health.ts';
import type { ContainerState, LiveRun, PausedState, RunningState } from './state.ts';

/** Facts that several verbs and views ask of any state, each decided once. */
export interface LastRun {
  exitCode: number;
  error: string;
  oomKilled: boolean;
  /** null = never. */
  startedAtNano: bigint | null;
  finishedAtNano: bigint | null;
  restartCount: number;
  health?: Health;
}

/** The current or last run as the API shows it. */
export function lastRun(state: ContainerState): LastRun {
  switch (state.status) {
    case 'created':
      return {
        exitCode: state.exitCode,
        error: state.error,
        oomKilled: false,
        startedAtNano: null,
        finishedAtNano: null,
        restartCount: 0,
      };
    case 'running':
    case 'paused':
      return {
        exitCode: 0,
        error: '',
        oomKilled: state.oomKilled ?? false,
        startedAtNano: state.startedAtNano,
        finishedAtNano: state.lastFinishedAtNano,
        restartCount: state.restartCount,
        ...(state.health && { health: state.health }),
      };
    case 'restarting':
    case 'exited':
      return state;
    case 'starting':
    case 'removing':
      return lastRun(state.from);
    case 'dead':
      return { ...lastRun(state.from), error: state.error };
    default:
      return unreachable(state);
  }
}

/** The state as clients know it: `starting` is ours alone and shows where it came from. */
export function shownStatus(state: ContainerState): ContainerStatus {
  return state.status === 'starting' ? state.from.status : state.status;
}

/** A process of the container exists. */
export function isLive(state: ContainerState): state is RunningState | PausedState {
  return state.status === 'running' || state.status === 'paused';
}

/** The run that goes on, or undefined. */
export function liveRun(state: ContainerState): LiveRun | undefined {
  return isLive(state) ? state : undefined;
}

/**
 * Running in the sense of the API's `Running` and of `wait`: also between two runs of a restart policy, as clients
 * must stop such a container before they may remove it.
 */
export function countsAsRunning(state: ContainerState): boolean {
  return isLive(state) || isRestarting(state);
}

/** Between two runs of a restart policy, from the end of one until the next one is there. */
export function isRestarting(state: ContainerState): boolean {
  return shownStatus(state) === 'restarting';
}

/** Nothing runs and nothing is about to. */
export function isAtRest(state: ContainerState): boolean {
  return !countsAsRunning(state) && state.status !== 'starting';
}
