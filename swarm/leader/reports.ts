import { limits } from '../../daemon/base/limits.ts';
import { TaskState } from '../objects/task-state.ts';
import type { TaskStatus } from '../objects/task.ts';

interface Reported {
  status: TaskStatus;
  /** Of the monotonic clock. */
  sinceMs: number;
}

/**
 * What was reported of tasks and is not stored: what is to be, and states on the way to running, which are so only when
 * they last or tell of trouble.
 */
export class Reports {
  readonly #reported = new Map<string, Reported>();
  readonly #toBeStored = new Set<string>();
  /** Passing states in the order in which they were reported; some of them are outdated. */
  #passing: Reported[] = [];

  get(task: string): TaskStatus | undefined {
    return this.#reported.get(task)?.status;
  }

  /** @param isLast What ended is to be forgotten: its task is deleted instead. */
  add(status: TaskStatus, nowMs: number, isLast: boolean): void {
    const isPassing = status.state < TaskState.running && status.error === undefined;
    const reported = { status, sinceMs: nowMs };
    this.#reported.set(status.id, reported);
    this.#toBeStored.delete(status.id);
    if (isPassing) {
      this.#passing.push(reported);
    } else if (!isLast) {
      this.#toBeStored.add(status.id);
    }
  }

  /** Of a task that is gone, or whose last status is stored. */
  forget(task: string): void {
    this.#reported.delete(task);
    this.#toBeStored.delete(task);
  }

  /** A status is in the store: what was reported before it counts no more. */
  stored(status: TaskStatus): void {
    const reported = this.get(status.id);
    if (reported !== undefined && (reported === status || reported.state < status.state)) {
      this.forget(status.id);
    }
  }

  /** Passing states that have lasted are to be stored. Answers after how long the next one will have. */
  ripen(nowMs: number): number | undefined {
    const ripeMs = nowMs - limits.swarmPassingStateMs;
    let ripe = 0;
    for (const reported of this.#passing) {
      const isCurrent = this.#reported.get(reported.status.id) === reported;
      if (isCurrent && reported.sinceMs > ripeMs) {
        break;
      }
      if (isCurrent) {
        this.#toBeStored.add(reported.status.id);
      }
      ripe += 1;
    }
    this.#passing = this.#passing.slice(ripe);
    const [next] = this.#passing;
    return next && next.sinceMs - ripeMs;
  }

  /** So many that are to be stored, but for those of these tasks. */
  take(count: number, except: ReadonlySet<string>): TaskStatus[] {
    const taken: TaskStatus[] = [];
    for (const id of this.#toBeStored) {
      const status = this.get(id);
      if (taken.length >= count) {
        break;
      }
      if (status !== undefined && !except.has(id)) {
        taken.push(status);
      }
    }
    return taken;
  }
}
