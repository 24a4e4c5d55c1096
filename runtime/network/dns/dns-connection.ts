import type net from 'node:net';
import { limits } from '../../../daemon/base/limits.ts';

const LENGTH_BYTES = 2;

/** DNS messages over TCP: each behind its length (RFC 1035, 4.2.2). Ends by itself when nothing is said for a while. */
export class DnsConnection {
  readonly #socket: net.Socket;
  #rest: Buffer = Buffer.alloc(0);

  private constructor(socket: net.Socket) {
    this.#socket = socket;
  }

  static over(
    socket: net.Socket,
    onMessage: (message: Buffer, reply: (answer: Buffer) => void) => void,
  ): DnsConnection {
    const connection = new DnsConnection(socket);
    connection.#listen(onMessage);
    return connection;
  }

  #listen(onMessage: (message: Buffer, reply: (answer: Buffer) => void) => void): void {
    const socket = this.#socket;
    const reply = (answer: Buffer): void => this.write(answer);
    socket.setTimeout(limits.dnsConnectionIdleMs, () => socket.destroy());
    // What went wrong is seen as its end.
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
    socket.on('data', (chunk: Buffer) => {
      // At most one message of 64 kB and what came with it is ever kept.
      this.#rest = Buffer.concat([this.#rest, chunk]);
      for (;;) {
        const length = this.#rest.length < LENGTH_BYTES ? Infinity : this.#rest.readUInt16BE(0);
        if (this.#rest.length < LENGTH_BYTES + length) {
          return;
        }
        const message = this.#rest.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
        this.#rest = this.#rest.subarray(LENGTH_BYTES + length);
        onMessage(message, reply);
      }
    });
  }

  write(message: Buffer): void {
    if (this.#socket.writableLength > limits.dnsUnreadBytesMax) {
      // It asks and does not read.
      this.#socket.destroy();
    } else if (this.#socket.writable) {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(message.length);
      this.#socket.write(Buffer.concat([length, message]));
    }
  }
}
