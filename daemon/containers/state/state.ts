import type { ErrorCode } from '../../base/errors.ts';
import { unreachable } from '../../base/errors.ts';
import type { ProcessIdentity } from '../../base/kernel/processes/process.ts';
import type { Sandbox } from '../../networks/sandbox/sandbox.ts';
import { afterEnd } from '../health/health.ts';
import type { Health } from '../health/health.ts';

/**
 * The life of a container. Each state carries exactly the facts that are true in it; nothing derived is stored.
 *
 *   created --start--> starting --started--> running <--pause/unpause--> paused
 *      ^                  |                     |
 *      +--- start_failed -+                    exit
 *                         v                     v
 *                      exited <--------- exited or restarting --start--> starting
 *                         |
 *                       remove --> removing --(row deleted)      removing --remove_failed--> dead --remove--> removing
 *
 * `starting` lives in memory only: a daemon that dies in it finds the state before in the database and sweeps the rest.
 */
export type ContainerState =
  | CreatedState
  | StartingState
  | RunningState
  | PausedState
  | RestartingState
  | ExitedState
  | RemovingState
  | DeadState;

/** What is known of a run that is over. */
export interface EndedRun {
  exitCode: number;
  /** Why the container could not be started, or empty. */
  error: string;
  oomKilled: boolean;
  startedAtNano: bigint;
  finishedAtNano: bigint;
  /** What its health check had found; absent without one. */
  health?: Health;
}

/** How a container is being stopped. */
export interface Stopping {
  signal: number;
  /** Time from the signal to SIGKILL; negative = never. */
  killAfterMs: number;
}

/** What is known of a run that goes on. */
export interface LiveRun {
  process: ProcessIdentity;
  /** The boot in which the process was started: in another one the pid means nothing. */
  bootId: string;
  startedAtNano: bigint;
  sandbox: Sandbox;
  /** Restarts by the policy since a client last started the container. */
  restartCount: number;
  /** The delay before this run when the policy started it, else 0: the next one doubles it. */
  restartDelayMs: number;
  /** A client asked for the end: the restart policy stays out of it. */
  stopRequested: boolean;
  /** A stop is under way: a daemon that finds this goes on with it. */
  stopping?: Stopping;
  /** Processes of it were killed for want of memory. Absent = none. */
  oomKilled?: boolean;
  /** It is paused, or about to be, by a commit only: a daemon that finds this lets it go on. */
  pausedForCommit?: true;
  /** End of the run before; null when this is the first. */
  lastFinishedAtNano: bigint | null;
  /** What its health check has found so far; absent without one. */
  health?: Health;
}

export interface CreatedState {
  status: 'created';
  /** 126, 127 or 128 after a failed start, else 0. */
  exitCode: number;
  error: string;
}

export interface StartingState {
  status: 'starting';
  from: CreatedState | ExitedState | RestartingState;
}

export interface RunningState extends LiveRun {
  status: 'running';
}

export interface PausedState extends LiveRun {
  status: 'paused';
}

export interface RestartingState extends EndedRun {
  status: 'restarting';
  restartCount: number;
  restartDelayMs: number;
  nextAttemptNano: bigint;
}

export interface ExitedState extends EndedRun {
  status: 'exited';
  restartCount: number;
  /** Stopped or killed on request: `unless-stopped` does not start it with the daemon. */
  userStopped: boolean;
}

export interface RemovingState {
  status: 'removing';
  from: CreatedState | ExitedState | DeadState;
  /** Its anonymous volumes go too. */
  withVolumes: boolean;
}

export interface DeadState {
  status: 'dead';
  from: CreatedState | ExitedState;
  /** Why its removal failed. */
  error: string;
}

/** What may happen to a container. */
export type ContainerEvent =
  | { type: 'start' }
  | {
      type: 'started';
      process: ProcessIdentity;
      bootId: string;
      startedAtNano: bigint;
      sandbox: Sandbox;
      /** To begin with; absent when it has no health check. */
      health?: Health;
    }
  | { type: 'probed'; health: Health }
  | { type: 'start_failed'; exitCode: number; error: string }
  | {
      type: 'exit';
      exitCode: number;
      oomKilled: boolean;
      finishedAtNano: bigint;
      /** What the restart policy decided; null = stays exited. */
      restart: { delayMs: number; atNano: bigint } | null;
    }
  /** Its process ended before it executed the command; it is to be started again. */
  | { type: 'unrun'; finishedAtNano: bigint }
  /** It is in other networks now. */
  | { type: 'rewired'; sandbox: Sandbox }
  | { type: 'stop'; stopping?: Stopping }
  | { type: 'oom' }
  | { type: 'pause' }
  | { type: 'commit_pause'; isBegun: boolean }
  | { type: 'unpause' }
  | { type: 'remove'; withVolumes: boolean }
  | { type: 'remove_failed'; error: string };

/** The next state, or why there is none: an error code and the sentence behind "Container x". */
export type Transition = { to: ContainerState } | { refused: ErrorCode; why: string };

const refuse = (refused: ErrorCode, why: string): Transition => ({ refused, why });

/** Pure and total: every pair of state and event is decided here. */
export function transition(state: ContainerState, event: ContainerEvent): Transition {
  switch (event.type) {
    case 'start':
      return onStart(state);
    case 'started':
      return onStarted(state, event);
    case 'start_failed':
      return onStartFailed(state, event);
    case 'exit':
      return onExit(state, event);
    case 'unrun':
      return onUnrun(state, event);
    case 'probed':
      return state.status === 'running'
        ? { to: { ...state, health: event.health } }
        : refuse('conflict', 'is not running');
    case 'rewired':
      return state.status === 'running' || state.status === 'paused'
        ? { to: { ...state, sandbox: event.sandbox } }
        : refuse('conflict', 'is not running');
    case 'stop':
      return onStop(state, event);
    case 'oom':
      return state.status === 'running' || state.status === 'paused'
        ? { to: { ...state, oomKilled: true } }
        : refuse('conflict', 'is not running');
    case 'pause':
      return state.status === 'running'
        ? { to: { ...state, status: 'paused' } }
        : refuse('conflict', state.status === 'paused' ? 'is already paused' : 'is not running');
    case 'unpause':
      return state.status === 'paused'
        ? { to: { ...notForCommit(state), status: 'running' } }
        : refuse('conflict', 'is not paused');
    case 'commit_pause':
      return state.status === 'running'
        ? { to: event.isBegun ? { ...state, pausedForCommit: true } : notForCommit(state) }
        : refuse('conflict', 'is not running');
    case 'remove':
      return onRemove(state, event.withVolumes);
    case 'remove_failed':
      return onRemoveFailed(state, event.error);
    default:
      return unreachable(event);
  }
}

type EventOf<T extends ContainerEvent['type']> = Extract<ContainerEvent, { type: T }>;

function notForCommit<Run extends LiveRun>(state: Run): Run {
  const { pausedForCommit: _isOver, ...rest } = state;
  // What is left out is optional.
  return rest as Run;
}

function onStart(state: ContainerState): Transition {
  switch (state.status) {
    case 'created':
    case 'exited':
    case 'restarting':
      return { to: { status: 'starting', from: state } };
    case 'starting':
    case 'running':
      return refuse('not_modified', 'is already started');
    case 'paused':
      return refuse('conflict', 'is paused, unpause it instead of starting it');
    case 'removing':
    case 'dead':
      return refuse('conflict', 'is marked for removal and cannot be started');
    default:
      return unreachable(state);
  }
}

function onStarted(state: ContainerState, event: EventOf<'started'>): Transition {
  if (state.status !== 'starting') {
    return refuse('conflict', 'is not starting');
  }
  const { from } = state;
  const { process, bootId, startedAtNano, sandbox, health } = event;
  const byPolicy = from.status === 'restarting';
  return {
    to: {
      status: 'running',
      process,
      bootId,
      startedAtNano,
      sandbox,
      restartCount: byPolicy ? from.restartCount : 0,
      restartDelayMs: byPolicy ? from.restartDelayMs : 0,
      stopRequested: false,
      lastFinishedAtNano: from.status === 'created' ? null : from.finishedAtNano,
      ...(health && { health }),
    },
  };
}

function onStartFailed(state: ContainerState, event: EventOf<'start_failed'>): Transition {
  if (state.status !== 'starting') {
    return refuse('conflict', 'is not starting');
  }
  const { from } = state;
  const { exitCode, error } = event;
  switch (from.status) {
    case 'created':
      return { to: { status: 'created', exitCode, error } };
    case 'exited':
      return { to: { ...from, exitCode, error } };
    case 'restarting': {
      const { restartCount } = from;
      return {
        to: { status: 'exited', ...endedRun(from), exitCode, error, restartCount, userStopped: false },
      };
    }
    default:
      return unreachable(from);
  }
}

function onExit(state: ContainerState, event: EventOf<'exit'>): Transition {
  if (state.status !== 'running' && state.status !== 'paused') {
    return refuse('conflict', 'is not running');
  }
  const ended: EndedRun = {
    exitCode: event.exitCode,
    error: '',
    oomKilled: event.oomKilled || state.oomKilled === true,
    startedAtNano: state.startedAtNano,
    finishedAtNano: event.finishedAtNano,
    ...(state.health && { health: afterEnd(state.health) }),
  };
  if (event.restart === null) {
    const { restartCount, stopRequested } = state;
    return { to: { status: 'exited', ...ended, restartCount, userStopped: stopRequested } };
  }
  return {
    to: {
      status: 'restarting',
      ...ended,
      restartCount: state.restartCount + 1,
      restartDelayMs: event.restart.delayMs,
      nextAttemptNano: event.restart.atNano,
    },
  };
}

/** Awaits its start as between two runs of a policy, and does not count as one of them. */
function onUnrun(state: ContainerState, { finishedAtNano }: EventOf<'unrun'>): Transition {
  if (state.status !== 'running') {
    return refuse('conflict', 'is not running');
  }
  const { startedAtNano, restartCount, restartDelayMs } = state;
  return {
    to: {
      status: 'restarting',
      exitCode: 0,
      error: '',
      oomKilled: false,
      startedAtNano,
      finishedAtNano,
      restartCount,
      restartDelayMs,
      nextAttemptNano: finishedAtNano,
    },
  };
}

function onStop(state: ContainerState, { stopping }: EventOf<'stop'>): Transition {
  switch (state.status) {
    case 'running':
    case 'paused':
      return { to: { ...state, stopRequested: true, ...(stopping && { stopping }) } };
    case 'restarting': {
      const { restartCount } = state;
      return { to: { status: 'exited', ...endedRun(state), restartCount, userStopped: true } };
    }
    case 'starting':
      return refuse('conflict', 'is starting');
    case 'created':
    case 'exited':
    case 'removing':
    case 'dead':
      return refuse('not_modified', 'is already stopped');
    default:
      return unreachable(state);
  }
}

function endedRun({ exitCode, error, oomKilled, startedAtNano, finishedAtNano, health }: EndedRun): EndedRun {
  return { exitCode, error, oomKilled, startedAtNano, finishedAtNano, ...(health && { health }) };
}

function onRemove(state: ContainerState, withVolumes: boolean): Transition {
  switch (state.status) {
    case 'created':
    case 'exited':
    case 'dead':
      return { to: { status: 'removing', from: state, withVolumes } };
    case 'removing':
      return refuse('conflict', 'is already being removed');
    case 'starting':
    case 'running':
      return refuse('conflict', 'is running');
    case 'paused':
      return refuse('conflict', 'is paused');
    case 'restarting':
      return refuse('conflict', 'is restarting');
    default:
      return unreachable(state);
  }
}

function onRemoveFailed(state: ContainerState, error: string): Transition {
  if (state.status !== 'removing') {
    return refuse('conflict', 'is not being removed');
  }
  const from = state.from.status === 'dead' ? state.from.from : state.from;
  return { to: { status: 'dead', from, error } };
}
