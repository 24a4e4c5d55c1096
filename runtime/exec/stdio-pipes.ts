import { closeSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { invariant } from '../../daemon/base/errors.ts';
import { makePipes } from '../../daemon/base/kernel/processes/spawn.ts';
import { unreadBytes } from '../../daemon/base/kernel/sockets/unread.ts';
import type { ExecStdio } from './exec-stdio.ts';

/** Ends for the process. */
interface PipeEnds {
  stdin: number | null;
  stdout: number;
  stderr: number;
}

/**
 * Pipes whose far ends are the process's own standard streams, without conmon in between. Pipes and not sockets, so
 * that the process may open /dev/stdout. They end with us: a daemon that is killed leaves a process that gets SIGPIPE
 * at its next output, like a client's broken connection does elsewhere.
 */
export class StdioPipes implements Disposable {
  readonly childEnds: PipeEnds;
  readonly #ownEnds: PipeEnds;
  #childEndsOpen = true;
  #ownEndsOpen = true;

  constructor(options: { stdin: boolean }) {
    const [stdout, stderr, stdin] = makePipes(options.stdin ? 3 : 2);
    invariant(stdout !== undefined && stderr !== undefined, 'a process has two outputs');
    this.childEnds = { stdin: stdin?.read ?? null, stdout: stdout.write, stderr: stderr.write };
    this.#ownEnds = { stdin: stdin?.write ?? null, stdout: stdout.read, stderr: stderr.read };
  }

  /** The child has copies: ours would keep the pipes open after its end. */
  closeChildEnds(): void {
    if (this.#childEndsOpen) {
      this.#childEndsOpen = false;
      closeAll(this.childEnds);
    }
  }

  /** What conmon and runc, which write to the same stderr, said of a process that could not be started. */
  complaint(): string {
    const text = Buffer.alloc(unreadBytes(this.#ownEnds.stderr));
    // As many bytes as are there: this read does not block.
    const length = text.length === 0 ? 0 : readSync(this.#ownEnds.stderr, text);
    return text.toString('utf8', 0, length);
  }

  /** The streams of a process that runs; from now on they own the descriptors. */
  open(): ExecStdio {
    this.#ownEndsOpen = false;
    const { stdin, stdout, stderr } = this.#ownEnds;
    const output = new OutputPipe(stdout);
    const errors = new OutputPipe(stderr);
    const input = stdin === null ? null : inputStream(stdin);
    return {
      stdin: input,
      stdout: output.stream,
      stderr: errors.stream,
      drain: async () => {
        input?.destroy();
        await Promise.all([output.drain(), errors.drain()]);
      },
    };
  }

  [Symbol.dispose](): void {
    this.closeChildEnds();
    if (this.#ownEndsOpen) {
      this.#ownEndsOpen = false;
      closeAll(this.#ownEnds);
    }
  }
}

function closeAll({ stdin, stdout, stderr }: PipeEnds): void {
  for (const fd of [stdin, stdout, stderr]) {
    if (fd !== null) {
      closeSync(fd);
    }
  }
}

/** One output of a process as a stream that holds the process back while it is not read. */
class OutputPipe {
  readonly stream: Readable;
  readonly #fd: number;
  readonly #socket: Socket;
  readonly #ended: Promise<void>;
  /** Bytes to be taken yet; known once the process has ended. */
  #left = Infinity;

  constructor(fd: number) {
    this.#fd = fd;
    this.#socket = new Socket({ fd, readable: true, writable: false });
    this.stream = new Readable({
      read: () => this.#socket.resume(),
      destroy: (error, callback) => {
        // The reader is gone: the process is not to be stopped by that, so its output is read and dropped.
        this.#socket.resume();
        callback(error);
      },
    });
    this.stream.on('error', () => {
      // It was destroyed by its reader; here that only means that nothing is read any more.
    });
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('error', () => {
      // A broken pipe is the end of the output, whatever broke it: 'close' follows.
    });
    this.#ended = new Promise((resolve) => {
      this.#socket.once('close', () => {
        this.stream.push(null);
        resolve();
      });
    });
  }

  /**
   * Takes what the ended process has left, at most a pipe full, read on or not; then ends. Children of
   * the process may hold the pipe open and go on writing: theirs is cut off.
   */
  drain(): Promise<void> {
    if (!this.#socket.destroyed) {
      this.#left = this.#socket.readableLength + unreadBytes(this.#fd);
      if (this.#left === 0) {
        this.#socket.destroy();
      } else {
        this.#socket.resume();
      }
    }
    return this.#ended;
  }

  #take(chunk: Buffer): void {
    const data = chunk.length > this.#left ? chunk.subarray(0, this.#left) : chunk;
    this.#left -= data.length;
    const isFull = !this.stream.destroyed && !this.stream.push(data);
    if (this.#left === 0) {
      this.#socket.destroy();
    } else if (isFull && this.#left === Infinity) {
      this.#socket.pause();
    }
  }
}

/** Input that the process cannot read any more is dropped: its exit tells what it thinks of that. */
function inputStream(fd: number): Writable {
  const socket = new Socket({ fd, readable: false, writable: true });
  socket.on('error', () => {
    // EPIPE: the process has closed its input or ended.
  });
  return new Writable({
    write: (chunk: Buffer, _encoding, callback) => {
      if (socket.destroyed) {
        callback();
      } else {
        socket.write(chunk, () => callback());
      }
    },
    final: (callback) => {
      // Everything before it was written: closing is the end of the input.
      socket.destroy();
      callback();
    },
    destroy: (error, callback) => {
      // A client that vanished will send nothing more.
      socket.destroy();
      callback(error);
    },
  });
}
