import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { frameHeader } from './frames.ts';

/** Writes a container's output to one client, framed unless it is a terminal, no faster than the client reads. */
export class ClientOutput {
  readonly #socket: Writable;
  readonly #tty: boolean;
  readonly #gone = new AbortController();

  constructor(socket: Writable, options: { tty: boolean }) {
    this.#socket = socket;
    this.#tty = options.tty;
    socket.once('close', () => this.#gone.abort());
    socket.on('error', () => {
      // The client went away (EPIPE, ECONNRESET): 'close' follows and ends the conversation.
    });
  }

  /** Aborts when the client is gone. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Resolves when more may be written; false when the client is gone. */
  async write(stream: 'stdout' | 'stderr', data: Buffer): Promise<boolean> {
    if (this.#tty) {
      return this.raw(data);
    }
    if (this.#isClosed()) {
      return false;
    }
    // Header and payload leave in one system call, without copying the payload.
    this.#socket.cork();
    this.#socket.write(frameHeader(stream, data.length));
    const hasRoom = this.#socket.write(data);
    this.#socket.uncork();
    return hasRoom || this.#drained();
  }

  /** Writes bytes that are ready as they are. */
  async raw(data: Buffer): Promise<boolean> {
    if (this.#isClosed()) {
      return false;
    }
    return this.#socket.write(data) || this.#drained();
  }

  /** Ends the output; what was written still arrives. Resolves when it has left or the client is gone. */
  async end(): Promise<void> {
    if (this.#isClosed()) {
      return;
    }
    await new Promise<void>((resolve) => {
      this.gone.addEventListener('abort', () => resolve(), { once: true });
      this.#socket.end(() => resolve());
    });
  }

  #isClosed(): boolean {
    return this.gone.aborted || this.#socket.destroyed || this.#socket.writableEnded;
  }

  async #drained(): Promise<boolean> {
    try {
      await once(this.#socket, 'drain', { signal: this.gone });
      return true;
    } catch {
      // Aborted: the client is gone, which is an answer here and no failure.
      return false;
    }
  }
}
