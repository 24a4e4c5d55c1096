import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { BuildProcess, OutputNumber } from '../../../api/types/build/containers.ts';
import { isEngineError } from '../../base/errors.ts';
import { parseSignal } from '../../base/signals.ts';
import type { ExecProcess, StdioChannel } from '../../containers/stdio/process-streams.ts';
import type { BuildContainers } from './ports.ts';

/** The init of a container that has been started. `leave` gives its stdio back. */
export async function firstProcess(
  containers: BuildContainers,
  id: string,
  { channel, leave }: { channel: StdioChannel | undefined; leave: () => void },
): Promise<BuildProcess> {
  const forever = new AbortController().signal;
  const { done } = await containers.wait(id, { condition: 'not-running', signal: forever });
  return {
    output: async (sink) => {
      for await (const { stream, data } of channel?.output ?? []) {
        await sink(stream === 'stderr' ? 2 : 1, data);
      }
      leave();
    },
    write: async (data) => await channel?.write(data),
    endInput: () => channel?.endInput(),
    resize: async (size) => await unlessEnded(containers.resize(id, size)),
    signal: async (name) => await unlessEnded(containers.kill(id, { signal: String(parseSignal(name)) })),
    exited: done.then(({ StatusCode }) => StatusCode),
    end: async () => {
      await unlessEnded(containers.kill(id, {}));
      leave();
    },
  };
}

/** A further one. */
export function execProcess(process: ExecProcess): BuildProcess {
  const { stdin, stdout, stderr } = process;
  stdin?.on('error', () => {
    // The command closed its input (EPIPE): what still comes has no reader, which is no error of ours.
  });
  return {
    output: async (sink) => {
      await Promise.all([pass(stdout, 1, sink), stderr && pass(stderr, 2, sink)]);
    },
    write: async (data) => {
      if (stdin?.destroyed === false && !stdin.write(data)) {
        await Promise.race([once(stdin, 'drain'), once(stdin, 'close'), process.exited]);
      }
    },
    endInput: () => stdin?.end(),
    resize: ({ height, width }) => Promise.resolve(process.resize(height, width)),
    signal: (name) => Promise.resolve(process.kill(parseSignal(name))),
    exited: process.exited,
    end: () => process.killTree(),
  };
}

/** One whose program could not be executed: it has ended, and said why. */
export function processThatFailed(said: Buffer, exitCode: number): BuildProcess {
  return {
    output: async (sink) => await sink(2, said),
    write: nothing,
    endInput: () => undefined,
    resize: nothing,
    signal: nothing,
    exited: Promise.resolve(exitCode),
    end: nothing,
  };
}

async function pass(
  source: Readable,
  stream: OutputNumber,
  sink: (stream: OutputNumber, data: Buffer) => Promise<void>,
): Promise<void> {
  for await (const chunk of source) {
    // A process's stream without an encoding yields Buffers.
    await sink(stream, chunk as Buffer);
  }
}

/** A container that does not run takes no signals and has no terminal. */
async function unlessEnded(done: Promise<void>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!isEngineError(error, 'conflict') && !isEngineError(error, 'not_found')) {
      throw error;
    }
  }
}

function nothing(): Promise<void> {
  return Promise.resolve();
}
