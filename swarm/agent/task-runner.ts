import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { isTerminal, TaskState, taskStateName } from '../objects/task-state.ts';
import type { AssignedTask } from '../protocol/session.ts';
import type { Executor, TaskToRun } from './executor.ts';
import { afterFailure, afterStep, isPassing, nextAction } from './task-step.ts';
import type { OwnStatus, TaskAction, TaskResult } from './task-step.ts';

export interface TaskRunnerDeps {
  executor: Executor;
  clock: Clock;
  logger: Logger;
  /** Undefined while something that it needs is not here; throws for what can never be run. */
  toRun(task: AssignedTask, action: 'prepare' | 'start'): TaskToRun | undefined;
  /** After each change of its status. */
  changed(runner: TaskRunner): void;
}

type Work = Exclude<TaskAction, { kind: 'rest' | 'move' }>['kind'];

/**
 * Brings one task to the state that is desired, a step at a time, and takes it down again. Disposal leaves the
 * container as it is: the next daemon's runner goes on from the last status.
 */
export class TaskRunner implements Disposable {
  readonly #deps: TaskRunnerDeps;
  #assigned: AssignedTask;
  #status: OwnStatus;
  readonly #closed = new AbortController();
  #isDrained = false;
  /** Set while a step runs that ends early when the task is to end. */
  #step: AbortController | undefined;
  #wake: (() => void) | undefined;
  #isRemoved = false;
  #tries = 0;
  /** Resolves when it is removed or was disposed of. */
  readonly over: Promise<void>;

  constructor(deps: TaskRunnerDeps, assigned: AssignedTask, status: OwnStatus) {
    this.#deps = deps;
    this.#assigned = assigned;
    this.#status = status;
    this.over = this.#live();
  }

  get #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  get status(): OwnStatus {
    return this.#status;
  }

  get assigned(): AssignedTask {
    return this.#assigned;
  }

  /** What is desired never goes down; all else of a task stays as it was, but for what could not be kept. */
  update(assigned: AssignedTask): void {
    const isLess = assigned.desired < this.#assigned.desired;
    this.#assigned = isLess ? { ...assigned, desired: this.#assigned.desired } : assigned;
    this.look();
  }

  /** Stops it and removes what is left of it; `over` tells when. */
  remove(): void {
    this.#isRemoved = true;
    this.update({ ...this.#assigned, desired: TaskState.remove });
  }

  /** Something that it may have waited for has changed. */
  look(): void {
    if (this.#assigned.desired >= TaskState.shutdown) {
      this.#step?.abort();
    }
    this.#wake?.();
  }

  [Symbol.dispose](): void {
    this.#closed.abort();
    this.#step?.abort();
    this.#wake?.();
  }

  async #live(): Promise<void> {
    while (!this.#isClosed) {
      const action = nextAction(this.#status.state, this.#assigned.desired);
      if (action.kind === 'move') {
        this.#become({ ...this.#status, state: action.state, message: action.message });
      } else if (action.kind !== 'rest') {
        await this.#work(action.kind);
      } else if (!this.#isRemoved || !isTerminal(this.#status.state)) {
        await this.#changed();
      } else if (await this.#clear()) {
        return;
      }
    }
  }

  async #work(kind: Work): Promise<void> {
    const step = new AbortController();
    if (kind !== 'stop') {
      this.#step = step;
    }
    try {
      const result = await this.#take(kind, step.signal);
      if (result === undefined) {
        await this.#changed();
        return;
      }
      this.#tries = 0;
      this.#become(afterStep(this.#status, result));
    } catch (error) {
      if (!step.signal.aborted) {
        await this.#failed(kind, error);
      }
    } finally {
      this.#step = undefined;
    }
  }

  /** Undefined where something is missing that the step needs. */
  async #take(kind: Work, signal: AbortSignal): Promise<TaskResult | undefined> {
    const { executor } = this.#deps;
    if (kind === 'stop') {
      await this.#drain();
      if (this.#isClosed) {
        return undefined;
      }
      failpoint('swarm.agent.task.stop');
      return { kind: 'stopped', end: await executor.stop(this.#assigned) };
    }
    if (kind === 'wait') {
      failpoint('swarm.agent.task.wait');
      return { kind: 'ended', end: await executor.wait(this.#assigned, signal) };
    }
    const task = this.#deps.toRun(this.#assigned, kind);
    if (task === undefined) {
      return undefined;
    }
    if (kind === 'prepare') {
      failpoint('swarm.agent.task.prepare');
      return { kind: 'prepared', container: await executor.prepare(task, signal) };
    }
    failpoint('swarm.agent.task.start');
    return { kind: 'started', started: await executor.start(task, signal) };
  }

  /**
   * Other nodes send connections to a task that runs in networks of the swarm until they have heard that it is to end:
   * they have by then. Whoever takes it away at once (`leave`) does not wait for it.
   */
  async #drain(): Promise<void> {
    const { state } = this.#status;
    if (!this.#isDrained && state === TaskState.running && this.#assigned.networks.length > 0) {
      await pause(this.#deps.clock, limits.swarmDrainMs, this.#closed.signal);
    }
    this.#isDrained = true;
  }

  async #failed(kind: Work, error: unknown): Promise<void> {
    const { logger } = this.#deps;
    const { id, state } = this.#status;
    logger.warn(
      { task: id, state: taskStateName(state), error: errorText(error) },
      `a task failed to ${kind}`,
    );
    // A container that cannot be stopped still runs: nothing else may be said of the task.
    const status = afterFailure(this.#status, error);
    const stays = kind === 'stop' || isPassing(error);
    this.#become(stays ? { ...status, state } : status);
    if (stays) {
      await this.#pause();
    }
  }

  /** True when nothing is left of it. */
  async #clear(): Promise<boolean> {
    const { executor, logger } = this.#deps;
    const { id } = this.#status;
    try {
      failpoint('swarm.agent.task.remove');
      await executor.remove(id);
      return true;
    } catch (error) {
      logger.warn({ task: id, error: errorText(error) }, 'what is left of a task cannot be removed yet');
      await this.#pause();
      return false;
    }
  }

  #become(status: OwnStatus): void {
    const before = this.#status;
    this.#status = status;
    if (before.state !== status.state || before.error !== status.error) {
      this.#deps.changed(this);
    }
  }

  #changed(): Promise<void> {
    if (this.#isClosed) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** Twice as long each time; over at once when something has changed. */
  async #pause(): Promise<void> {
    const delayMs = Math.min(limits.swarmTaskRetryMs * 2 ** this.#tries, limits.swarmTaskRetryMaxMs);
    this.#tries += 1;
    using _timer = this.#deps.clock.setTimeout(() => this.#wake?.(), delayMs);
    await this.#changed();
  }
}
