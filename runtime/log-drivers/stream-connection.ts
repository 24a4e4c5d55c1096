import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isHungUp } from '../../daemon/base/kernel/sockets/hang-up.ts';
import { unsentBytes } from '../../daemon/base/kernel/sockets/unread.ts';
import { limits } from '../../daemon/base/limits.ts';

const DRAIN_POLL_MS = 2;

/** A stream to a receiver (TCP, TLS, Unix), made again for the next write after it broke. */
export class StreamConnection {
  readonly #connect: () => Socket;
  /** Name of the event that says that it can be written to. */
  readonly #ready: 'connect' | 'secureConnect';
  #socket: Socket | undefined;
  #received: Buffer = Buffer.alloc(0);
  #wake: (() => void) | undefined;

  constructor(connect: () => Socket, ready: 'connect' | 'secureConnect' = 'connect') {
    this.#connect = connect;
    this.#ready = ready;
  }

  /** Rejects when there is no connection after a while. */
  async open(): Promise<void> {
    if (this.#socket !== undefined) {
      return;
    }
    const socket = this.#connect();
    await settle(limits.logConnectTimeoutMs, 'connect: timed out', socket, (resolve, reject) => {
      socket.once(this.#ready, resolve);
      socket.once('error', reject);
    });
    this.#socket = socket;
    this.#received = Buffer.alloc(0);
    socket.setNoDelay(true);
    socket.on('data', (data: Buffer) => {
      this.#received = Buffer.concat([this.#received, data]).subarray(-limits.logResponseBytesMax);
      this.#wake?.();
    });
    const gone = (): void => {
      if (this.#socket === socket) {
        this.#socket = undefined;
      }
      socket.destroy();
      this.#wake?.();
    };
    socket.on('error', gone);
    socket.once('end', gone);
    socket.once('close', gone);
    // A receiver that is silent for days must not keep the daemon from ending.
    socket.unref();
  }

  /**
   * Writes, and waits until the other kernel has it all, where ours can tell: what is still in our buffers when a
   * connection breaks is sent again.
   */
  async write(data: Buffer): Promise<void> {
    await this.open();
    const socket = this.#socket;
    if (socket === undefined) {
      throw new Error('connection closed by the receiver');
    }
    let onClose: (() => void) | undefined;
    try {
      await settle(limits.logSendTimeoutMs, 'write: timed out', socket, (resolve, reject) => {
        onClose = () => reject(new Error('connection closed by the receiver'));
        socket.once('close', onClose);
        socket.write(data, (error) => (error ? reject(error) : resolve()));
      });
    } finally {
      socket.off('close', onClose ?? (() => undefined));
    }
    await this.#drained(socket);
  }

  /** Resolves when the receiver has sent a text that contains `part`. */
  async answered(part: string): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined) {
      throw new Error('connection closed by the receiver');
    }
    await settle(limits.logSendTimeoutMs, 'no acknowledgement', socket, (resolve, reject) => {
      this.#wake = () => {
        if (this.#received.includes(part)) {
          resolve();
        } else if (this.#socket !== socket) {
          reject(new Error('connection closed by the receiver'));
        }
      };
      this.#wake();
    });
    this.#received = Buffer.alloc(0);
  }

  close(): void {
    this.#socket?.end();
    this.#socket = undefined;
  }

  async #drained(socket: Socket): Promise<void> {
    const deadline = performance.now() + limits.logSendTimeoutMs;
    let fd = descriptorOf(socket);
    for (; fd !== undefined && unsentBytes(fd) > 0; fd = descriptorOf(socket)) {
      if (performance.now() > deadline) {
        socket.destroy();
        throw new Error('write: timed out');
      }
      await sleep(DRAIN_POLL_MS);
    }
    // A receiver that ends leaves nothing unsent, either: what it had not read is thrown away. Node may not know yet.
    if (this.#socket !== socket || (fd !== undefined && isHungUp(fd))) {
      throw new Error('connection closed by the receiver');
    }
  }
}

/** Of a plain socket; Node shows it nowhere else. Undefined with TLS, and when closed. */
function descriptorOf(socket: Socket): number | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}

/** Destroys the socket when it fails. */
async function settle(
  timeoutMs: number,
  message: string,
  socket: Socket,
  begin: (resolve: () => void, reject: (error: Error) => void) => void,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(message)), timeoutMs);
      begin(resolve, reject);
    });
  } catch (error) {
    // Its own error is this one, or comes of our destroying it.
    socket.on('error', () => socket.unref());
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
