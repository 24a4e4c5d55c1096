import { Readable, Writable } from 'node:stream';
import type { ConmonStdio } from '../monitor/conmon-stdio.ts';
import type { ExecStdio } from './exec-stdio.ts';

/** The streams of a process whose terminal conmon holds. */
export function terminalStdio(channel: ConmonStdio, options: { stdin: boolean }): ExecStdio {
  const gate = new Gate();
  const stdout = outputStream(gate);
  const pumped = pump(channel, stdout, gate);
  return {
    stdin: options.stdin ? inputStream(channel) : null,
    stdout,
    stderr: null,
    drain: () => pumped,
  };
}

async function pump(channel: ConmonStdio, target: Readable, gate: Gate): Promise<void> {
  for await (const { data } of channel.output) {
    if (!target.destroyed && !target.push(data)) {
      await gate.opened();
    }
  }
  target.push(null);
}

/** The pump waits at it until the reader reads on, or leaves. */
class Gate {
  #open: (() => void) | undefined;

  opened(): Promise<void> {
    return new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open?.();
    this.#open = undefined;
  }
}

function outputStream(gate: Gate): Readable {
  const stream = new Readable({
    read: () => gate.open(),
    destroy: (error, callback) => {
      gate.open();
      callback(error);
    },
  });
  stream.on('error', () => {
    // It was destroyed by its reader; here that only means that nothing is read any more.
  });
  return stream;
}

function inputStream(channel: ConmonStdio): Writable {
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, callback) => {
      void settle(channel.write(chunk), callback).catch((error: Error) => stream.destroy(error));
    },
    final: (callback) => {
      channel.endInput();
      callback();
    },
    destroy: (error, callback) => {
      // A client that vanished will send nothing more.
      channel.endInput();
      callback(error);
    },
  });
  return stream;
}

async function settle(work: Promise<void>, callback: (error?: Error) => void): Promise<void> {
  let failure: Error | undefined;
  try {
    await work;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  }
  callback(failure);
}
