/**
 * States of a task, as numbers that only grow: of two observations the greater is the later one. The distances leave
 * room for states between them. `running` and below are on the way, `complete` and above are ends.
 */
export const TaskState = {
  new: 0,
  pending: 64,
  assigned: 192,
  accepted: 256,
  preparing: 320,
  ready: 384,
  starting: 448,
  running: 512,
  complete: 576,
  shutdown: 640,
  failed: 704,
  rejected: 768,
  /** Only ever desired: shut down and forget. */
  remove: 800,
  /** The node has been away for so long that the result will never be known. */
  orphaned: 832,
} as const;

export type TaskStateName = keyof typeof TaskState;
export type TaskState = (typeof TaskState)[TaskStateName];

const NAMES = new Map(Object.entries(TaskState).map(([name, state]) => [state, name]));

/** The word of the API for a state. */
export function taskStateName(state: TaskState): string {
  return NAMES.get(state) ?? 'unknown';
}

export function isTaskState(value: unknown): value is TaskState {
  return NAMES.has(value as TaskState); // A lookup of anything else answers false.
}

/** Whether a task in this state has ended, for good or not. */
export function isTerminal(state: TaskState): boolean {
  return state > TaskState.running;
}
