import { errorText, isEngineError, unreachable } from '../../daemon/base/errors.ts';
import { isTerminal, TaskState } from '../objects/task-state.ts';
import type { StatusReport } from '../protocol/session.ts';
import type { RunningTask, TaskEnd } from './executor.ts';

/** What the node says of a task of its own. */
export type OwnStatus = StatusReport['statuses'][number];

/** What is to be done for a task next. `rest`: nothing, until something else is desired of it. */
export type TaskAction =
  | { kind: 'rest' }
  | { kind: 'move'; state: TaskState; message: string }
  | { kind: 'prepare' | 'start' | 'wait' | 'stop' };

export type TaskResult =
  | { kind: 'prepared'; container: string }
  | { kind: 'started'; started: RunningTask | TaskEnd }
  | { kind: 'ended'; end: TaskEnd }
  | { kind: 'stopped'; end: TaskEnd | undefined };

/** What is done while a task is in a state, until it is in the next one. */
const WORK = new Map<TaskState, 'prepare' | 'start' | 'wait'>([
  [TaskState.preparing, 'prepare'],
  [TaskState.starting, 'start'],
  [TaskState.running, 'wait'],
]);

const REST: TaskAction = { kind: 'rest' };

/**
 * One step of a task's life. It climbs as far as is desired and no further: one that is desired `ready` is prepared and
 * waits. Whatever it was doing, one that is to end is stopped. Pure.
 */
export function nextAction(state: TaskState, desired: TaskState): TaskAction {
  if (isTerminal(state)) {
    return REST;
  }
  if (desired >= TaskState.shutdown) {
    return { kind: 'stop' };
  }
  // These steps were begun because they were desired; a crash of the daemon does not take that back.
  const work = WORK.get(state);
  if (work !== undefined) {
    return { kind: work };
  }
  if (state >= desired) {
    return REST;
  }
  if (state === TaskState.ready) {
    return { kind: 'move', state: TaskState.starting, message: 'starting' };
  }
  return state === TaskState.accepted
    ? { kind: 'move', state: TaskState.preparing, message: 'preparing' }
    : { kind: 'move', state: TaskState.accepted, message: 'accepted' };
}

/** What a task is after a step that went well. Pure. */
export function afterStep(status: OwnStatus, result: TaskResult): OwnStatus {
  // An error of a try before this one has passed.
  const { error: _error, ...known } = status;
  switch (result.kind) {
    case 'prepared':
      return {
        ...known,
        state: TaskState.ready,
        message: 'prepared',
        container: { id: result.container },
      };
    case 'started': {
      const { started } = result;
      return 'exitCode' in started ? ended(known, started) : running(known, started);
    }
    case 'ended':
      return ended(known, result.end);
    case 'stopped': {
      const { end } = result;
      const container = end && { ...known.container, ...containerOf(end) };
      return { ...known, state: TaskState.shutdown, message: 'shutdown', ...(container && { container }) };
    }
    default:
      return unreachable(result);
  }
}

/**
 * What a task is after a step that failed: the same, with the reason, where it may go better the next time; else
 * rejected, or failed from its start on. The message keeps telling how far it had come. Pure.
 */
export function afterFailure(status: OwnStatus, error: unknown): OwnStatus {
  const failed = status.state < TaskState.starting ? TaskState.rejected : TaskState.failed;
  return { ...status, error: errorText(error), state: isPassing(error) ? status.state : failed };
}

/** Whether the same step may go well later. */
export function isPassing(error: unknown): boolean {
  return isEngineError(error, 'unavailable') || isEngineError(error, 'deadline_exceeded');
}

function running(status: OwnStatus, { container, pid, ports }: RunningTask): OwnStatus {
  return {
    ...status,
    state: TaskState.running,
    message: 'started',
    container: { id: container, pid },
    ...(ports.length > 0 && { ports }),
  };
}

function ended(status: OwnStatus, end: TaskEnd): OwnStatus {
  const container = { ...status.container, ...containerOf(end) };
  const error = endText(end);
  return error === undefined
    ? { ...status, state: TaskState.complete, message: 'finished', container }
    : { ...status, state: TaskState.failed, error, container };
}

function containerOf({ container, exitCode }: TaskEnd): { id: string; exitCode: number } {
  return { id: container, exitCode };
}

/** The error that clients know; undefined for an end that went well. */
function endText({ exitCode, cause }: TaskEnd): string | undefined {
  if (exitCode === 0) {
    return cause === undefined ? undefined : `task: ${cause}`;
  }
  return `task: non-zero exit (${exitCode})${cause === undefined ? '' : `: ${cause}`}`;
}
