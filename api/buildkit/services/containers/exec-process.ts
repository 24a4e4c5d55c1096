import type { BuildContainersPort, NewBuildProcess } from '../../../types/build/containers.ts';
import type { BuildkitPort } from '../../../types/build/ports.ts';
import { EngineError, invalidArgument, notFound } from '../../../../daemon/base/errors.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { execMessage, type ExecMessage, type InitMessage } from '../../proto/containers.ts';
import type { RpcCall, RpcMethod } from '../../rpc/server.ts';
import { buildOf } from '../build-id.ts';
import { ProcessConversation } from './process-conversation.ts';

/** `ExecProcess`: one stream for all processes of a client, each by the name that the client gave it. */
export const execProcess =
  ({ containers }: Pick<BuildkitPort, 'containers'>): RpcMethod =>
  async (call) => {
    await new ProcessStream(containers, call).serve();
  };

class ProcessStream {
  readonly #containers: BuildContainersPort;
  readonly #call: RpcCall;
  /** Also those that have ended: a client may send them the end of their input a moment later. */
  readonly #processes = new Map<string, ProcessConversation>();

  constructor(containers: BuildContainersPort, call: RpcCall) {
    this.#containers = containers;
    this.#call = call;
  }

  /** Ends with the last process once the client sends no more; a client that leaves ends them all. */
  async serve(): Promise<void> {
    try {
      for await (const bytes of this.#call.messages) {
        await this.#take(decoded(bytes));
      }
      this.#processes.forEach((process) => process.endInput());
      const over = Promise.all([...this.#processes.values()].map((process) => process.over));
      await Promise.race([over, aborted(this.#call.signal)]);
    } finally {
      await Promise.all([...this.#processes.values()].map(async (process) => await process.end()));
    }
  }

  async #take(message: ExecMessage): Promise<void> {
    const { processId, init, file, resize, signal } = message;
    if (processId === '') {
      throw invalidArgument('ProcessID required');
    }
    if (init !== undefined) {
      this.#begin(processId, init);
      return;
    }
    const process = this.#processes.get(processId);
    if (process === undefined) {
      throw notFound(`IO for process ${JSON.stringify(processId)} not found`);
    }
    if (file !== undefined) {
      await process.take(file);
    } else if (resize !== undefined) {
      await process.resize({ height: resize.rows, width: resize.cols });
    } else if (signal !== undefined) {
      await process.signal(signal.name);
    } else {
      throw invalidArgument(`a message for process ${processId} that is none of a client's`);
    }
  }

  #begin(processId: string, init: InitMessage): void {
    if (this.#processes.has(processId)) {
      throw new EngineError('conflict', `Process ${processId} already exists`);
    }
    if (this.#processes.size >= limits.buildStreamProcessesMax) {
      throw new EngineError(
        'resource_exhausted',
        `more than ${limits.buildStreamProcessesMax} processes of one stream`,
      );
    }
    const { metadata, signal, send } = this.#call;
    const process = new ProcessConversation({
      fds: init.fds,
      start: async () => await this.#containers.start(buildOf(metadata), processOf(init), signal),
      send: async (message) => await send(execMessage.encode({ processId, ...message })),
    });
    this.#processes.set(processId, process);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) {
      resolve();
    }
  });
}

function processOf(init: InitMessage): NewBuildProcess {
  const { containerId: container, meta, fds, tty, security, secrets } = init;
  return { container, meta, fds, isTerminal: tty, security, secrets };
}

function decoded(bytes: Buffer): ExecMessage {
  try {
    return execMessage.decode(bytes);
  } catch (error) {
    throw invalidArgument('the request cannot be read', { cause: error });
  }
}
