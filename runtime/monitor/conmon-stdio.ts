import { closeSync } from 'node:fs';
import { errnoOf, conflict, errorText, internal } from '../../daemon/base/errors.ts';
import type { Poller, Watch } from '../../daemon/base/kernel/sockets/poller.ts';
import {
  endPackets,
  receivePacket,
  sendPacket,
  connectSeqpacket,
} from '../../daemon/base/kernel/sockets/seqpacket.ts';
import { limits } from '../../daemon/base/limits.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../daemon/base/clock.ts';

/** What a container wrote, in the order conmon read it. */
export interface OutputChunk {
  stream: 'stdout' | 'stderr';
  data: Buffer;
}

export interface StdioChannelDeps {
  /** A connected packet socket of conmon's; the channel closes it. */
  fd: number;
  poller: Poller;
  /** False = nothing is ever written: input is dropped. */
  acceptsInput: boolean;
  /** True = conmon takes any client's leaving for the end of input, so this one must not be seen to leave. */
  lingers: boolean;
  /** False once the process behind the output has ended: what is left then is bounded, and read whatever the limit. */
  isProcessAlive(): boolean;
}

/** First byte of each of conmon's packets. */
const STDERR_MARK = 3;
/** conmon 2.1 sends up to 8 kB, later ones 32 kB; a packet longer than the buffer would be cut. */
const PACKET_BYTES_MAX = 64 * 1024 + 1;
/** conmon reads packets of up to 32 kB and cuts longer ones. */
const INPUT_PACKET_BYTES = 8 * 1024;
/** Packets taken in one turn of the event loop: about a millisecond. */
const PACKETS_PER_TURN = 64;
/** Packets handed on as one chunk: fewer frames for the client, fewer system calls for us. */
const CHUNK_BYTES_MAX = 128 * 1024;

/** Pause between attempts to get a place in conmon's backlog of ten. */
const CONNECT_PAUSE_MS = 2;

/**
 * One connection to a container's stdio through conmon's attach socket.
 *
 * Output is read ahead up to `limits.attachBufferBytesMax`; then reading stops, the socket fills and conmon waits, and
 * with it the container: as with a terminal whose reader has stopped. A container that ends meanwhile is not held up.
 */
export class ConmonStdio {
  readonly #deps: StdioChannelDeps;
  readonly #watch: Watch;
  readonly #packet = Buffer.allocUnsafe(PACKET_BYTES_MAX);
  readonly #queue: OutputChunk[] = [];
  #queuedBytes = 0;
  #pulled: (() => void) | undefined;
  #writable: (() => void) | undefined;
  #writes: Promise<void> = Promise.resolve();
  #stallTimer: NodeJS.Timeout | undefined;
  #leaveTimer: NodeJS.Timeout | undefined;
  #state: 'open' | 'lingering' | 'ended' | 'closed' = 'open';
  #inputEnded = false;

  constructor(deps: StdioChannelDeps) {
    this.#deps = deps;
    this.#inputEnded = !deps.acceptsInput;
    this.#watch = deps.poller.watch(deps.fd, () => this.#ready());
    this.#arm();
  }

  /** Ends when the container's output is over or the channel is closed. One reader only; leaving it closes. */
  get output(): AsyncIterableIterator<OutputChunk> {
    return this.#read();
  }

  /** Sends input; resolves when more may be written. Input that the process cannot read any more is dropped. */
  write(data: Buffer): Promise<void> {
    const written = this.#writes.then(() => this.#send(data));
    // The caller of the failing write is told; later ones start anew.
    this.#writes = written.catch(() => undefined);
    return written;
  }

  /** Half-close after what was written: the container reads the end of its input where its stdin mode says so. */
  endInput(): void {
    if (this.#inputEnded) {
      return;
    }
    this.#writes = this.#writes.then(() => this.#endPackets());
  }

  /**
   * Lets go of the connection: reads on and throws away, so that conmon does not wait, to the end of the container
   * where conmon must not see us leave. Else it hears of the end of our input first and loses the connection a moment
   * later: conmon 2.1.6 may crash (SIGSEGV) when it writes to a client that is gone before it has read of its end.
   */
  close(): void {
    if (this.#state === 'open') {
      this.#state = 'lingering';
      this.#drop();
      if (!this.#deps.lingers) {
        endPackets(this.#deps.fd);
        this.#leaveTimer = setTimeout(() => this.#end('closed'), limits.attachLeaveMs);
      }
      this.#inputEnded = true;
      this.#arm();
    } else if (this.#state === 'ended') {
      this.#drop();
      this.#state = 'closed';
    }
    this.#wake();
  }

  async *#read(): AsyncGenerator<OutputChunk, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#take();
        if (chunk) {
          yield chunk;
        } else if (this.#state === 'open') {
          await new Promise<void>((resolve) => {
            this.#pulled = resolve;
          });
        } else {
          return;
        }
      }
    } finally {
      this.close();
    }
  }

  /** The oldest output, packets of the same stream joined. */
  #take(): OutputChunk | undefined {
    const first = this.#queue.shift();
    if (first === undefined) {
      return undefined;
    }
    const parts = [first.data];
    let bytes = first.data.length;
    for (let next = this.#queue[0]; next?.stream === first.stream; next = this.#queue[0]) {
      if (bytes + next.data.length > CHUNK_BYTES_MAX) {
        break;
      }
      bytes += next.data.length;
      parts.push(next.data);
      this.#queue.shift();
    }
    const wasFull = this.#isFull();
    this.#queuedBytes -= bytes;
    if (wasFull && !this.#isFull()) {
      this.#arm();
    }
    return { stream: first.stream, data: parts.length === 1 ? first.data : Buffer.concat(parts, bytes) };
  }

  /** Socket readable, writable or hung up. */
  #ready(): void {
    const wake = this.#writable;
    this.#writable = undefined;
    wake?.();
    for (let count = 0; count < PACKETS_PER_TURN && this.#wantsOutput(); count += 1) {
      if (!this.#receive()) {
        break;
      }
    }
    this.#wake();
    this.#arm();
  }

  /** Takes one packet; false when there is none now. */
  #receive(): boolean {
    let length: number | undefined;
    try {
      length = receivePacket(this.#deps.fd, this.#packet);
    } catch {
      // A broken socket is the end of the output, whatever broke it; the exit record says how the container ended.
      length = 0;
    }
    if (length === undefined) {
      return false;
    }
    if (length === 0) {
      this.#end('ended');
      return false;
    }
    if (this.#state === 'open' && length > 1) {
      const data = Buffer.from(this.#packet.subarray(1, length));
      this.#queue.push({ stream: this.#packet[0] === STDERR_MARK ? 'stderr' : 'stdout', data });
      this.#queuedBytes += data.length;
    }
    return true;
  }

  async #send(data: Buffer): Promise<void> {
    for (let offset = 0; offset < data.length;) {
      if (this.#inputEnded || this.#state !== 'open') {
        return;
      }
      const packet = data.subarray(offset, offset + INPUT_PACKET_BYTES);
      try {
        if (sendPacket(this.#deps.fd, packet)) {
          offset += packet.length;
          continue;
        }
      } catch (error) {
        if (errnoOf(error) === 'EPIPE' || errnoOf(error) === 'ECONNRESET') {
          this.#inputEnded = true;
          return;
        }
        throw error;
      }
      await new Promise<void>((resolve) => {
        this.#writable = resolve;
        this.#arm();
      });
    }
  }

  #endPackets(): void {
    if (!this.#inputEnded && this.#state === 'open') {
      this.#inputEnded = true;
      endPackets(this.#deps.fd);
    }
  }

  #isFull(): boolean {
    return this.#queuedBytes >= limits.attachBufferBytesMax;
  }

  #wantsOutput(): boolean {
    return (
      this.#state === 'lingering' ||
      (this.#state === 'open' && (!this.#isFull() || !this.#deps.isProcessAlive()))
    );
  }

  #arm(): void {
    clearTimeout(this.#stallTimer);
    if (this.#state !== 'open' && this.#state !== 'lingering') {
      return;
    }
    const read = this.#wantsOutput();
    this.#watch.arm({ read, write: this.#writable !== undefined });
    if (!read) {
      this.#stallTimer = setTimeout(() => this.#arm(), limits.stalledAttachCheckMs).unref();
    }
  }

  #drop(): void {
    this.#queue.length = 0;
    this.#queuedBytes = 0;
  }

  #end(state: 'ended' | 'closed'): void {
    this.#state = this.#state === 'lingering' ? 'closed' : state;
    clearTimeout(this.#stallTimer);
    clearTimeout(this.#leaveTimer);
    this.#watch[Symbol.dispose]();
    closeSync(this.#deps.fd);
  }

  #wake(): void {
    const pulled = this.#pulled;
    this.#pulled = undefined;
    pulled?.();
    if (this.#state !== 'open') {
      const writable = this.#writable;
      this.#writable = undefined;
      writable?.();
    }
  }
}

/**
 * Connects to conmon's attach socket at `path`, as soon as conmon takes clients. Throws EngineError conflict when its
 * process has ended.
 */
export async function connectStdio(
  path: string,
  poller: Poller,
  options: { acceptsInput: boolean; lingers: boolean; isProcessAlive(): boolean },
): Promise<ConmonStdio> {
  const deadline = systemClock.monotonicMs() + limits.attachTimeoutMs;
  for (;;) {
    try {
      return new ConmonStdio({ fd: connectSeqpacket(path), poller, ...options });
    } catch (error) {
      const code = errnoOf(error);
      if (code === 'ENOENT' || code === 'ECONNREFUSED') {
        throw conflict('cannot attach to a container that is not running', { cause: error });
      }
      if (code !== 'EAGAIN' || systemClock.monotonicMs() > deadline) {
        throw internal(`attach: ${errorText(error)}`, { cause: error });
      }
      await sleep(CONNECT_PAUSE_MS);
    }
  }
}
