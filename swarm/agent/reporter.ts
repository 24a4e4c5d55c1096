import type { Clock } from '../../daemon/base/clock.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
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

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  changed(status: OwnStatus): void {
    this.#waiting.set(status.id, status);
    this.#sendLater(limits.swarmReportDelayMs);
  }

  /** A session has begun; it ends with the disposal of what is returned. */
  attach(send: SendStatuses): Disposable {
    this.#send = send;
    this.#pauseMs = limits.swarmReportDelayMs;
    for (const status of this.#deps.all()) {
      this.#waiting.set(status.id, status);
    }
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
    const batch = [...this.#waiting.values()].slice(0, limits.swarmReportStatusesMax);
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
    } catch (error) {
      this.#deps.logger.debug({ error: errorText(error) }, 'a report was not taken');
      this.#pauseMs = Math.min(this.#pauseMs * 2, limits.swarmSessionRetryMaxMs);
    } finally {
      this.#isSending = false;
    }
    this.#sendLater(this.#pauseMs);
  }
}
