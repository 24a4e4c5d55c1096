import type { WaitCondition } from '../../../api/types/ports.ts';
import { unreachable } from '../../base/errors.ts';
import type { ContainerEvent, ContainerState } from './state.ts';
import { isAtRest, lastRun } from './state-facts.ts';

/** What a waiter is told. */
export interface WaitResult {
  exitCode: number;
  error: string;
}

/**
 * What can be waited for: the API's conditions, the end of the run that goes on, restart or not (`run-over`), that
 * nothing runs nor is about to (`at-rest`), and that a container runs or will not be started by itself (`settled`).
 */
type Condition = WaitCondition | 'run-over' | 'at-rest' | 'settled';

interface Waiter {
  condition: Condition;
  resolve(result: WaitResult): void;
}

/** A wait that was registered: `done` resolves at the condition, `cancel` forgets it. */
export interface Wait {
  done: Promise<WaitResult>;
  cancel(): void;
}

/** Waits for changes of containers. The machine tells it of each change after the database has it. */
export class Waiters {
  readonly #byId = new Map<string, Set<Waiter>>();

  /** Registers at once. A condition that already holds resolves `done` immediately. */
  wait(id: string, state: ContainerState, condition: Condition): Wait {
    const { promise, resolve } = withResolvers<WaitResult>();
    if (holds(condition, state)) {
      resolve(resultOf(state));
      return { done: promise, cancel: () => undefined };
    }
    const waiter: Waiter = { condition, resolve };
    const waiters = this.#byId.get(id) ?? new Set();
    waiters.add(waiter);
    this.#byId.set(id, waiters);
    return { done: promise, cancel: () => this.#forget(id, waiter) };
  }

  /** The container changed. */
  changed(id: string, state: ContainerState, event: ContainerEvent): void {
    this.#wake(id, state, (condition) => isMet(condition, state, event));
  }

  /** The container is removed: every wait ends. */
  removed(id: string, state: ContainerState): void {
    this.#wake(id, state, () => true);
  }

  #wake(id: string, state: ContainerState, isMetBy: (condition: Condition) => boolean): void {
    for (const waiter of this.#byId.get(id) ?? []) {
      if (isMetBy(waiter.condition)) {
        this.#forget(id, waiter);
        waiter.resolve(resultOf(state));
      }
    }
  }

  #forget(id: string, waiter: Waiter): void {
    const waiters = this.#byId.get(id);
    waiters?.delete(waiter);
    if (waiters?.size === 0) {
      this.#byId.delete(id);
    }
  }
}

/** Whether nothing has to be waited for. */
function holds(condition: Condition, state: ContainerState): boolean {
  switch (condition) {
    case 'not-running':
    case 'at-rest':
      return isAtRest(state);
    case 'settled':
      return isSettled(state);
    case 'next-exit':
    case 'run-over':
    case 'removed':
      return false;
    default:
      return unreachable(condition);
  }
}

function isMet(condition: Condition, state: ContainerState, event: ContainerEvent): boolean {
  switch (condition) {
    case 'not-running':
    case 'next-exit':
      // Each end counts, also one after which a restart policy starts it again, as with dockerd.
      return isEnd(event) || (state.status === 'exited' && event.type !== 'remove');
    case 'run-over':
      return isEnd(event);
    case 'at-rest':
      return isAtRest(state);
    case 'settled':
      return isSettled(state);
    case 'removed':
      return false;
    default:
      return unreachable(condition);
  }
}

function isEnd({ type }: ContainerEvent): boolean {
  return type === 'exit' || type === 'start_failed';
}

function isSettled({ status }: ContainerState): boolean {
  return status !== 'starting' && status !== 'restarting';
}

function resultOf(state: ContainerState): WaitResult {
  const { exitCode, error } = lastRun(state);
  return { exitCode, error };
}

/** Promise.withResolvers, which Node.js 20 does not have. */
function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
