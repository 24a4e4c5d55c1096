import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { NodeDescription } from '../../../api/types/swarm/node.ts';
import { EngineError, type ErrorCode } from '../../../daemon/base/errors.ts';
import type { Executor, RunningTask, TaskEnd, TaskToRun } from '../../../swarm/agent/executor.ts';
import type { AttachedContainer } from '../../../swarm/protocol/attachments.ts';
import type { NetworksChange } from '../../../swarm/protocol/networks.ts';
import type { AssignedTask, LogLine, LogSubscription } from '../../../swarm/protocol/session.ts';

interface Answer {
  id: number;
  value?: unknown;
  line?: LogLine;
  error?: { code: ErrorCode; message: string };
}

/**
 * The executor of a daemon made by `task-daemon.ts`. Calls that a daemon's death cuts off are never answered: an agent
 * dies with its daemon.
 */
export class RemoteExecutor implements Executor, Disposable {
  readonly #socket: Socket;
  readonly #calls = new Map<number, (answer: Answer) => void>();
  #last = 0;

  constructor(path: string) {
    this.#socket = connect(path);
    this.#socket.on('error', () => this.#socket.destroy());
    const lines = createInterface(this.#socket);
    // It tells the socket's errors again.
    lines.on('error', () => this.#socket.destroy());
    lines.on('line', (line) => {
      const answer = JSON.parse(line) as Answer;
      this.#calls.get(answer.id)?.(answer);
    });
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  describe(): Promise<NodeDescription> {
    return this.#call('describe', []);
  }

  subnets(): Promise<string[]> {
    return this.#call('subnets', []);
  }

  networks(change: NetworksChange): Promise<void> {
    return this.#call('networks', [change]);
  }

  attachments(): Promise<AttachedContainer[]> {
    return this.#call('attachments', []);
  }

  prepare(task: TaskToRun, signal: AbortSignal): Promise<string> {
    return this.#call('prepare', [task], signal);
  }

  start(task: TaskToRun, signal: AbortSignal): Promise<RunningTask | TaskEnd> {
    return this.#call('start', [task], signal);
  }

  wait(task: AssignedTask, signal: AbortSignal): Promise<TaskEnd> {
    return this.#call('wait', [task], signal);
  }

  async stop(task: AssignedTask): Promise<TaskEnd | undefined> {
    return (await this.#call<TaskEnd | null>('stop', [task])) ?? undefined;
  }

  remove(taskId: string): Promise<void> {
    return this.#call('remove', [taskId]);
  }

  leftovers(): Promise<string[]> {
    return this.#call('leftovers', []);
  }

  async *logs(subscription: LogSubscription, signal: AbortSignal): AsyncIterable<LogLine> {
    const lines: LogLine[] = [];
    let wake: (() => void) | undefined;
    let isOver = false;
    const over = this.#call('logs', [subscription], signal, (line) => {
      lines.push(line);
      wake?.();
    }).finally(() => {
      isOver = true;
      wake?.();
    });
    for (;;) {
      yield* lines.splice(0);
      if (isOver) {
        await over;
        yield* lines.splice(0);
        return;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  #call<T>(
    method: keyof Executor,
    given: unknown[],
    signal?: AbortSignal,
    onLine?: (line: LogLine) => void,
  ): Promise<T> {
    this.#last += 1;
    const id = this.#last;
    return new Promise<T>((resolve, reject) => {
      this.#calls.set(id, ({ value, line, error }) => {
        if (line !== undefined) {
          onLine?.(line);
          return;
        }
        this.#calls.delete(id);
        if (error === undefined) {
          resolve(value as T);
        } else {
          reject(new EngineError(error.code, error.message));
        }
      });
      signal?.addEventListener('abort', () => this.#socket.write(`${JSON.stringify({ id, abort: true })}\n`));
      this.#socket.write(`${JSON.stringify({ id, method, arguments: given }, plainMaps)}\n`);
    });
  }
}

/** Data of secrets goes as base64. */
function plainMaps(_key: string, value: unknown): unknown {
  return value instanceof Map
    ? { map: [...value].map(([key, data]) => [key, (data as Buffer).toString('base64')]) }
    : value;
}

export function reviveMaps(_key: string, value: unknown): unknown {
  const isMap = typeof value === 'object' && value !== null && 'map' in value && Array.isArray(value.map);
  return isMap
    ? new Map((value.map as [string, string][]).map(([key, data]) => [key, Buffer.from(data, 'base64')]))
    : value;
}
