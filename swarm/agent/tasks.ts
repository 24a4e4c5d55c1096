import type { Clock } from '../../daemon/base/clock.ts';
import { persistently } from '../../daemon/base/concurrency/retry.ts';
import { together } from '../../daemon/base/concurrency/timeout.ts';
import { errorText } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { isTerminal, TaskState } from '../objects/task-state.ts';
import type { AssignedTask, Assignments } from '../protocol/session.ts';
import { AssignedDataSet } from './assigned-data.ts';
import type { Executor, TaskToRun } from './executor.ts';
import { TaskFiles, type StoredTask } from './task-files.ts';
import { TaskRunner, type TaskRunnerDeps } from './task-runner.ts';
import type { OwnStatus } from './task-step.ts';
import { taskToRun, type OwnNode } from './task-to-run.ts';

interface Deps {
  executor: Executor;
  clock: Clock;
  logger: Logger;
  directory: string;
  node: OwnNode;
  /** A task's status has changed. */
  changed(status: OwnStatus): void;
  /** Nothing is left of a task. */
  removed(task: string): void;
}

/** This node's tasks: each has a runner, and a file that the next daemon finds it by. */
export class Tasks implements AsyncDisposable {
  readonly #deps: Deps;
  readonly #files: TaskFiles;
  readonly #data = new AssignedDataSet();
  readonly #runners = new Map<string, TaskRunner>();
  /** Tasks of an earlier daemon whose credentials for pulling are not here yet. */
  readonly #lackingAuth = new Set<string>();

  private constructor(deps: Deps, files: TaskFiles) {
    this.#deps = deps;
    this.#files = files;
  }

  /** Goes on with the tasks that an earlier daemon had, whether or not a manager answers. */
  static async open(deps: Deps): Promise<Tasks> {
    const { files, stored } = await TaskFiles.open(deps.directory, deps.logger);
    const tasks = new Tasks(deps, files);
    for (const { assigned, status, hasRegistryAuth } of stored) {
      if (hasRegistryAuth) {
        tasks.#lackingAuth.add(assigned.id);
      }
      tasks.#run(assigned, status);
    }
    return tasks;
  }

  statuses(): OwnStatus[] {
    return [...this.#runners.values()].map(({ status }) => status);
  }

  /** Takes what a manager says. Where it said everything, what is left of unknown tasks is removed. */
  async apply(assignments: Assignments): Promise<void> {
    const { full, tasks, removedTasks } = assignments;
    this.#data.apply(assignments);
    for (const task of tasks) {
      this.#lackingAuth.delete(task.id);
      const runner = this.#runners.get(task.id);
      if (runner === undefined) {
        this.#run(task, await this.#firstStatus(task));
      } else {
        runner.update(task);
        this.#save(runner);
      }
    }
    const named = new Set(tasks.map(({ id }) => id));
    const removed = full ? [...this.#runners.keys()].filter((id) => !named.has(id)) : removedTasks;
    removed.forEach((id) => this.#runners.get(id)?.remove());
    // Data that a task waited for may have come.
    for (const runner of this.#runners.values()) {
      runner.look();
    }
    if (full) {
      // Not waited for: it may take a while, and the next assignments are waiting.
      void this.#removeLeftovers().catch(this.#left);
    }
  }

  /** Takes all of them away at once, without the patience that a service asks for. */
  async removeAll(): Promise<void> {
    const runners = [...this.#runners.values()];
    runners.forEach((runner) => runner[Symbol.dispose]());
    this.#runners.clear();
    await this.#removeLeftovers().catch(this.#left);
    // A step that went on meanwhile may have made a container.
    await Promise.all(runners.map(({ over }) => over));
    await this.#removeLeftovers().catch(this.#left);
    await this.#files.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const runner of this.#runners.values()) {
      runner[Symbol.dispose]();
    }
    await this.#files.flush();
  }

  #run(task: AssignedTask, status: OwnStatus): void {
    const deps: TaskRunnerDeps = {
      ...this.#deps,
      toRun: (assigned, action) => this.#toRun(assigned, action),
      changed: (changed) => this.#changed(changed),
    };
    const runner = new TaskRunner(deps, task, status);
    this.#runners.set(task.id, runner);
    this.#save(runner);
    this.#deps.changed(runner.status);
    void runner.over
      .then(() => this.#ended(runner))
      .catch((error: unknown) => {
        this.#deps.logger.error(
          { task: task.id, error: errorText(error) },
          'a task is not looked after any more',
        );
      });
  }

  async #ended(runner: TaskRunner): Promise<void> {
    const { id } = runner.assigned;
    if (runner.assigned.desired === TaskState.remove && this.#runners.get(id) === runner) {
      this.#runners.delete(id);
      this.#deps.removed(id);
      await this.#files.remove(id);
    }
  }

  /**
   * A task that this node does not know: new, or forgotten. What the managers know of it holds then, so that it does
   * not run twice. One that has ended for them must not run on here.
   */
  async #firstStatus(task: AssignedTask): Promise<OwnStatus> {
    const { id, known } = task;
    if (known === undefined || known.state < TaskState.accepted) {
      return { id, state: TaskState.assigned, message: 'assigned' };
    }
    if (isTerminal(known.state)) {
      try {
        await this.#deps.executor.stop(task);
      } catch (error) {
        this.#deps.logger.error({ task: id, error: errorText(error) }, 'a task that has ended runs on');
      }
    }
    const { at: _at, running: _running, ...own } = known;
    return own;
  }

  #toRun(task: AssignedTask, action: 'prepare' | 'start'): TaskToRun | undefined {
    const lacksAuth = action === 'prepare' && this.#lackingAuth.has(task.id);
    return lacksAuth || !this.#data.has(task) ? undefined : taskToRun(task, this.#deps.node, this.#data);
  }

  #changed(runner: TaskRunner): void {
    this.#deps.changed(runner.status);
    const { state } = runner.status;
    // Those between are made again from `accepted` on: every step may be taken twice.
    if (state === TaskState.ready || state === TaskState.running || isTerminal(state)) {
      this.#save(runner);
    }
  }

  #save({ assigned, status }: TaskRunner): void {
    const { registryAuth, known: _known, ...rest } = assigned;
    const hasRegistryAuth = registryAuth !== undefined || this.#lackingAuth.has(assigned.id);
    this.#files.save({ assigned: rest, status, hasRegistryAuth } satisfies StoredTask);
  }

  /** Containers of tasks that nobody knows any more. */
  async #removeLeftovers(): Promise<void> {
    const { executor, clock } = this.#deps;
    const left = (await executor.leftovers()).filter((id) => !this.#runners.has(id));
    await together(...left.map((id) => persistently(clock, () => executor.remove(id))));
  }

  readonly #left = (error: unknown): void => {
    this.#deps.logger.error({ error: errorText(error) }, 'containers of tasks that are gone are left');
  };
}
