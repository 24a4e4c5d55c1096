import type { NodeDescription } from '../../../api/types/swarm/node.ts';
import { EngineError, notFound } from '../../../daemon/base/errors.ts';
import type { Executor, RunningTask, TaskEnd, TaskToRun } from '../../../swarm/agent/executor.ts';
import type { AttachedContainer } from '../../../swarm/protocol/attachments.ts';
import type { NetworksChange } from '../../../swarm/protocol/networks.ts';
import type { AssignedTask, LogLine, LogSubscription } from '../../../swarm/protocol/session.ts';

interface FakeContainer {
  id: string;
  task: string;
  state: 'created' | 'running' | 'exited';
  exitCode: number;
  cause?: string;
  starts: number;
  ended: Set<() => void>;
}

/** Containers of tasks without an engine. It outlives agents, as an engine's containers outlive daemons. */
export class FakeExecutor implements Executor {
  readonly containers = new Map<string, FakeContainer>();
  readonly prepared: TaskToRun[] = [];
  readonly log: string[] = [];
  description: NodeDescription = { Hostname: 'host1', Platform: { Architecture: 'x86_64', OS: 'linux' } };
  /** Throws what a step is to fail with, or waits. */
  before: (step: string, task: string, signal?: AbortSignal) => Promise<void> | void = () => undefined;

  describe(): Promise<NodeDescription> {
    return Promise.resolve(this.description);
  }

  /** What its host is in. */
  hostSubnets: string[] = [];

  subnets(): Promise<string[]> {
    return Promise.resolve(this.hostSubnets);
  }

  /** What it was told of networks. */
  readonly networkChanges: NetworksChange[] = [];

  networks(change: NetworksChange): Promise<void> {
    this.networkChanges.push(change);
    return Promise.resolve();
  }

  /** Its containers that are no tasks. */
  attached: AttachedContainer[] = [];

  attachments(): Promise<AttachedContainer[]> {
    return Promise.resolve(this.attached);
  }

  async prepare(task: TaskToRun, signal: AbortSignal): Promise<string> {
    await this.#step('prepare', task.id, signal);
    const known = this.containers.get(task.id);
    if (known !== undefined) {
      return known.id;
    }
    this.prepared.push(task);
    const id = `container-of-${task.id}`;
    this.containers.set(task.id, {
      id,
      task: task.id,
      state: 'created',
      exitCode: 0,
      starts: 0,
      ended: new Set(),
    });
    return id;
  }

  async start(task: TaskToRun, signal: AbortSignal): Promise<RunningTask | TaskEnd> {
    await this.#step('start', task.id, signal);
    const container = this.#need(task.id);
    if (container.state === 'created') {
      container.state = 'running';
      container.starts += 1;
    }
    return container.state === 'running' ? { container: container.id, pid: 42, ports: [] } : endOf(container);
  }

  async wait(task: AssignedTask, signal: AbortSignal): Promise<TaskEnd> {
    await this.#step('wait', task.id, signal);
    const container = this.#need(task.id);
    if (container.state === 'running') {
      await new Promise<void>((resolve, reject) => {
        container.ended.add(resolve);
        signal.addEventListener('abort', () => reject(new EngineError('canceled', 'canceled')));
      });
    }
    return endOf(container);
  }

  async stop(task: AssignedTask): Promise<TaskEnd | undefined> {
    await this.#step('stop', task.id);
    const container = this.containers.get(task.id);
    if (container === undefined || container.state === 'created') {
      return undefined;
    }
    if (container.state === 'running') {
      this.exit(task.id, 137);
    }
    return endOf(container);
  }

  async remove(taskId: string): Promise<void> {
    await this.#step('remove', taskId);
    this.containers.delete(taskId);
  }

  leftovers(): Promise<string[]> {
    return Promise.resolve([...this.containers.keys()]);
  }

  async *logs({ tasks }: LogSubscription, signal: AbortSignal): AsyncIterable<LogLine> {
    for (const task of tasks) {
      yield { task, stream: 'stdout', at: '1', line: Buffer.from(`line of ${task}\n`).toString('base64') };
    }
    await this.before('logs', tasks[0] ?? '', signal);
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
  }

  exit(taskId: string, exitCode: number, cause?: string): void {
    const container = this.#need(taskId);
    container.state = 'exited';
    container.exitCode = exitCode;
    if (cause !== undefined) {
      container.cause = cause;
    }
    container.ended.forEach((ended) => ended());
    container.ended.clear();
  }

  #need(taskId: string): FakeContainer {
    const container = this.containers.get(taskId);
    if (container === undefined) {
      throw notFound(`No such container: the one of task ${taskId} was removed`);
    }
    return container;
  }

  async #step(step: string, task: string, signal?: AbortSignal): Promise<void> {
    this.log.push(`${step} ${task}`);
    await this.before(step, task, signal);
    if (signal?.aborted === true) {
      throw new EngineError('canceled', 'canceled');
    }
  }
}

function endOf({ id, exitCode, cause }: FakeContainer): TaskEnd {
  return { container: id, exitCode, ...(cause !== undefined && { cause }) };
}
