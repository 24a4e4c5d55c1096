import type { Clock } from '../../daemon/base/clock.ts';
import { errorText, isEngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { TaskState } from '../objects/task-state.ts';
import type { OwnStatus } from './task-step.ts';

/** Takes statuses; resolves when the manager has them. */
export type SendStatuses = (statuses: readonly OwnStatus[]) => Promise<void>;

interface Deps {
  clock: Clock;
  logger: Logger;
  /** Of every task, as they are now. */
  all(): readonly OwnStatus[];
}

/**
 * Tells the managers what becomes of tasks: the newest status of each, some at a time, again until they are taken. A
 * new session is told all of them.
 */
export class Reporter {
  readonly #deps: Deps;
  /** Not yet taken, by task. */
  readonly #waiting = new Map<string, OwnStatus>();
  #send: SendStatuses | undefined;
  #timer: Disposable | undefined;
  #isSending = false;
  #pauseMs: number = limits.swarmReportDelayMs;
  #batchMax: number = limits.swarmReportStatusesMax;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  changed(status: OwnStatus): void {
    this.#add(status);
    this.#sendLater(limits.swarmReportDelayMs);
  }

  /** The task is gone from this node: nothing of it is told any more. */
  forget(task: string): void {
    this.#waiting.delete(task);
  }

  /** A session has begun; it ends with the disposal of what is returned. */
  attach(send: SendStatuses): Disposable {
    this.#send = send;
    this.#pauseMs = limits.swarmReportDelayMs;
    this.#deps.all().forEach((status) => this.#add(status));
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#sendLater(0);
    return {
      [Symbol.dispose]: () => {
        if (this.#send === send) {
          this.#send = undefined;
          this.#timer?.[Symbol.dispose]();
          this.#timer = undefined;
        }
      },
    };
  }

  #add(status: OwnStatus): void {
    // That a task was orphaned is known from the managers, who take it from no node.
    if (status.state <= TaskState.rejected) {
      this.#waiting.set(status.id, status);
    }
  }

  #sendLater(delayMs: number): void {
    if (this.#send === undefined || this.#timer !== undefined || this.#waiting.size === 0) {
      return;
    }
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.#timer = undefined;
      void this.#sendNow().catch((error: unknown) => {
        this.#deps.logger.error({ error: errorText(error) }, 'statuses of tasks are not reported');
      });
    }, delayMs);
  }

  async #sendNow(): Promise<void> {
    const send = this.#send;
    if (send === undefined || this.#isSending) {
      return;
    }
    const batch = [...this.#waiting.values()].slice(0, this.#batchMax);
    this.#isSending = true;
    try {
      await send(batch);
      for (const status of batch) {
        // One that has changed meanwhile waits for the next time.
        if (this.#waiting.get(status.id) === status) {
          this.#waiting.delete(status.id);
        }
      }
      this.#pauseMs = limits.swarmReportDelayMs;
      this.#batchMax = Math.min(this.#batchMax * 2, limits.swarmReportStatusesMax);
    } catch (error) {
      this.#refused(batch, error);
    } finally {
      this.#isSending = false;
    }
    this.#sendLater(this.#pauseMs);
  }

  /** A report is taken whole or not at all: one status that is refused for good must not keep the others back. */
  #refused(batch: readonly OwnStatus[], error: unknown): void {
    const { logger } = this.#deps;
    const [first] = batch;
    if (!isLasting(error)) {
      logger.debug({ error: errorText(error) }, 'a report was not taken yet');
      this.#pauseMs = Math.min(this.#pauseMs * 2, limits.swarmSessionRetryMaxMs);
    } else if (batch.length > 1) {
      this.#batchMax = Math.ceil(batch.length / 2);
      this.#pauseMs = 0;
    } else if (first !== undefined) {
      logger.error({ task: first.id, error: errorText(error) }, 'the status of a task is not taken');
      if (this.#waiting.get(first.id) === first) {
        this.#waiting.delete(first.id);
      }
      this.#pauseMs = 0;
    }
  }
}

/** Whether the same report is refused again, by whatever manager. */
function isLasting(error: unknown): boolean {
  return isEngineError(error) && ['forbidden', 'invalid_argument', 'resource_exhausted'].includes(error.code);
}
