import { Duplex } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { RawData, WebSocket } from 'ws';

/**
 * A container's stdio over a websocket (RFC 6455): what the client sends is input, output goes out in messages as it
 * comes, not framed by stream. Its end closes the connection with 1000; the client's closing is the end of input.
 */
export function websocketStdio(socket: WebSocket, options: { binary: boolean }): Duplex {
  // A text message must be whole characters, output comes in pieces of any length.
  const text = options.binary ? undefined : new StringDecoder('utf8');
  const stdio = new Duplex({
    read: () => socket.resume(),
    write: (chunk: Buffer, _encoding, callback) => {
      if (socket.readyState !== socket.OPEN) {
        callback(new Error('the websocket is closed'));
        return;
      }
      socket.send(text ? text.write(chunk) : chunk, { binary: options.binary }, callback);
    },
    final: (callback) => {
      socket.once('close', () => callback());
      if (socket.readyState === socket.CLOSED) {
        callback();
      } else {
        socket.close(1000);
      }
    },
    destroy: (error, callback) => {
      socket.terminate();
      callback(error);
    },
  });
  socket.on('message', (data) => {
    if (!stdio.push(bytesOf(data))) {
      socket.pause();
    }
  });
  socket.on('close', () => {
    // What the client sent is still input; after that the client is gone, so output has no reader.
    stdio.once('end', () => stdio.destroy());
    stdio.push(null);
  });
  socket.on('error', () => {
    // A client that breaks the protocol or the connection: 'close' follows.
  });
  return stdio;
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) {
    return Buffer.concat(data);
  }
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
