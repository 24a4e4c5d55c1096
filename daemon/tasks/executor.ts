import { existsSync } from 'node:fs';
import type { ContainerInspect } from '../../api/types/container.ts';
import type { NodeDescription } from '../../api/types/swarm/node.ts';
import type { Executor, RunningTask, TaskEnd, TaskToRun } from '../../swarm/agent/executor.ts';
import type { AssignedTask, LogLine, LogSubscription } from '../../swarm/protocol/session.ts';
import { merged } from '../base/concurrency/merged.ts';
import { EngineError, invalidArgument, isEngineError, notFound } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { ContainerChanges } from './container-changes.ts';
import { containerRequest, graceSeconds } from './container-request.ts';
import { hostPorts } from './host-ports.ts';
import { TASK_ID_LABEL } from './labels.ts';
import { MemoryFiles } from './memory-files.ts';
import { nodeDescription } from './node-description.ts';
import type { TaskExecutorDeps } from './ports.ts';
import { TaskImages } from './pulls.ts';
import { taskLogs } from './task-logs.ts';

/** dockerd's words. */
const UNHEALTHY = 'dockerexec: unhealthy container';

/**
 * Runs tasks as containers of this engine. A task's container is found by its label: nothing is kept here, so an
 * executor of the next daemon knows as much.
 */
export class TaskExecutor implements Executor, Disposable {
  readonly #deps: TaskExecutorDeps;
  readonly #images: TaskImages;
  readonly #files: MemoryFiles;
  readonly #changes: ContainerChanges;

  constructor(deps: TaskExecutorDeps) {
    this.#deps = deps;
    this.#images = new TaskImages(deps);
    this.#files = new MemoryFiles(deps.filesDirectory, deps.mounts);
    this.#changes = new ContainerChanges(deps);
  }

  async describe(): Promise<NodeDescription> {
    return nodeDescription(await this.#deps.system.info());
  }

  async prepare(task: TaskToRun, signal: AbortSignal): Promise<string> {
    const known = await this.#find(task.id);
    if (known !== undefined) {
      return known.Id;
    }
    const { Image = '', Mounts } = task.spec.ContainerSpec ?? {};
    for (const { Type, Source = '', BindOptions } of Mounts ?? []) {
      if (Type === 'bind' && BindOptions?.CreateMountpoint !== true && !existsSync(Source)) {
        throw invalidArgument(`invalid bind mount source, source path not found: ${Source}`);
      }
    }
    const networks = await this.#networkNames(task);
    await this.#images.ensure(Image, task.registryAuth, signal);
    const hiddenFiles = await this.#files.write(task);
    failpoint('tasks.prepare.create');
    const request = containerRequest(task, networks);
    const { Id } = await this.#deps.containers.create(task.name, request, { signal, hiddenFiles });
    failpoint('tasks.prepare.created');
    return Id;
  }

  async start(task: TaskToRun, signal: AbortSignal): Promise<RunningTask | TaskEnd> {
    const { containers } = this.#deps;
    const found = await this.#need(task);
    if (!hasRun(found)) {
      // Its files are gone with a reboot of the host.
      await this.#files.write(task);
      failpoint('tasks.start');
      await unless('not_modified', () => containers.start(found.Id, {}));
    }
    for (;;) {
      const woken = new AbortController();
      const change = this.#changes.next(found.Id, AbortSignal.any([signal, woken.signal]));
      const container = await this.#need(task);
      const { Running, Health } = container.State;
      if (!Running || Health?.Status === 'unhealthy' || Health?.Status !== 'starting') {
        woken.abort();
        return Running && Health?.Status !== 'unhealthy'
          ? { container: container.Id, pid: container.State.Pid, ports: hostPorts(task.hostPorts, container) }
          : await this.#end(task, container);
      }
      await change;
      signal.throwIfAborted();
    }
  }

  async wait(task: AssignedTask, signal: AbortSignal): Promise<TaskEnd> {
    const { Id } = await this.#need(task);
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    try {
      const { done } = await this.#deps.containers.wait(Id, { condition: 'not-running', signal: either });
      return await Promise.race([
        done.then(({ StatusCode }) => ({ container: Id, exitCode: StatusCode })),
        this.#unhealthy(task, Id, either),
        rejected(signal),
      ]);
    } finally {
      over.abort();
    }
  }

  async stop(task: AssignedTask): Promise<TaskEnd | undefined> {
    const found = await this.#find(task.id);
    return found === undefined || !hasRun(found) ? undefined : await this.#stop(task, found);
  }

  async remove(taskId: string): Promise<void> {
    const { containers } = this.#deps;
    for (const id of await this.#containersOf(taskId)) {
      failpoint('tasks.remove');
      await unless('not_found', () => containers.remove(id, { volumes: true, force: true, link: false }));
    }
    await this.#files.remove(taskId);
  }

  async leftovers(): Promise<string[]> {
    const containers = await this.#list(TASK_ID_LABEL);
    const ids = containers.flatMap(({ Labels }) => Labels[TASK_ID_LABEL] ?? []);
    return [...new Set([...ids, ...(await this.#files.tasks())])];
  }

  async *logs(subscription: LogSubscription, signal: AbortSignal): AsyncIterable<LogLine> {
    const { containers } = this.#deps;
    const found = await Promise.all(
      subscription.tasks.map(async (task) => {
        const [container] = await this.#containersOf(task);
        return container === undefined ? [] : [{ task, container }];
      }),
    );
    yield* merged(
      found.flat().map((each) => taskLogs(containers, each, subscription, signal)),
      signal,
    );
  }

  [Symbol.dispose](): void {
    this.#changes[Symbol.dispose]();
  }

  /** Resolves with its end once it has become unhealthy; never, where it does not. */
  async #unhealthy(task: AssignedTask, id: string, signal: AbortSignal): Promise<TaskEnd> {
    for (;;) {
      const change = this.#changes.next(id, signal);
      const container = await this.#find(task.id);
      if (container?.State.Health?.Status === 'unhealthy' && container.State.Running) {
        return await this.#end(task, container);
      }
      if (container?.State.Health === undefined || !container.State.Running) {
        // Whoever waits for its end hears of it.
        return await new Promise<never>(() => undefined);
      }
      await change;
      if (signal.aborted) {
        return await new Promise<never>(() => undefined);
      }
    }
  }

  /** Of one that has ended, or is unhealthy and stopped here. */
  async #end(task: AssignedTask, container: ContainerInspect): Promise<TaskEnd> {
    const isUnhealthy = container.State.Health?.Status === 'unhealthy';
    const end = await this.#stop(task, container);
    return isUnhealthy ? { ...end, cause: UNHEALTHY } : end;
  }

  async #stop(task: AssignedTask, { Id, State }: ContainerInspect): Promise<TaskEnd> {
    const { containers } = this.#deps;
    const timeoutS = graceSeconds(task.spec.ContainerSpec ?? {});
    failpoint('tasks.stop');
    try {
      await containers.stop(Id, { ...(timeoutS !== undefined && { timeoutS }) });
    } catch (error) {
      if (!isEngineError(error, 'not_modified') && !isEngineError(error, 'not_found')) {
        throw error;
      }
    }
    const ended = await this.#find(task.id);
    return { container: Id, exitCode: (ended?.State ?? State).ExitCode };
  }

  /** Names of a task's networks on this node: those of the swarm's own are the same, ids of local ones are not. */
  async #networkNames({ spec }: TaskToRun): Promise<string[]> {
    const { networks } = this.#deps;
    return await Promise.all(
      (spec.Networks ?? []).map(async ({ Target }) => (await networks.inspect(Target, {})).Name),
    );
  }

  async #need(task: AssignedTask): Promise<ContainerInspect> {
    const found = await this.#find(task.id);
    if (found === undefined) {
      throw notFound(`No such container: the one of task ${task.id} was removed`);
    }
    return found;
  }

  async #find(taskId: string): Promise<ContainerInspect | undefined> {
    const [id] = await this.#containersOf(taskId);
    if (id === undefined) {
      return undefined;
    }
    try {
      return await this.#deps.containers.inspect(id, { size: false });
    } catch (error) {
      if (isEngineError(error, 'not_found')) {
        return undefined;
      }
      throw error;
    }
  }

  async #containersOf(taskId: string): Promise<string[]> {
    return (await this.#list(`${TASK_ID_LABEL}=${taskId}`)).map(({ Id }) => Id);
  }

  #list(label: string) {
    const filters = new Map([['label', [label]]]);
    return this.#deps.containers.list({ all: true, limit: 0, size: false, filters });
  }
}

/** Whether it was started, however that came out. */
function hasRun({ State }: ContainerInspect): boolean {
  return State.Status !== 'created';
}

async function unless(code: EngineError['code'], action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!isEngineError(error, code)) {
      throw error;
    }
  }
}

/** Rejects when the signal fires. */
function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = (): void => reject(new EngineError('canceled', 'canceled'));
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) {
      end();
    }
  });
}
