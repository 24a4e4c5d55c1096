import http2 from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { EngineError, isEngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { headersOf, type Metadata } from './metadata.ts';
import { closeWithPeer } from './peer-end.ts';
import { errorOf, OK, readTrailers, type RpcStatus } from './status.ts';
import { batchesOf, isSoonClosed, sendFrames } from './stream.ts';

export interface CallOptions {
  signal: AbortSignal;
  metadata?: Metadata;
  /** Without an answer by then the call is given up, and rejects with deadline_exceeded. */
  timeoutMs?: number;
}

/** A call of ours. */
export interface RpcConversation extends AsyncDisposable {
  /**
   * What the peer sends: the messages that have come since the last look. Throws the peer's status when that is an
   * error, else ends with the call.
   */
  batches: AsyncIterable<readonly Buffer[]>;
  /** One after the other. Resolves when there is room for more. */
  send: (...messages: readonly Uint8Array[]) => Promise<void>;
  /** Nothing more is sent. */
  end: () => void;
}

/** Calls gRPC methods of a peer on a connection that is there already. */
export class RpcClient {
  readonly #session: ClientHttp2Session;
  readonly closed: Promise<void>;

  constructor(connection: Duplex, log: Logger) {
    this.#session = http2.connect('http://localhost', {
      createConnection: () => connection,
      settings: {
        initialWindowSize: limits.rpcStreamWindowBytes,
        maxHeaderListSize: limits.rpcHeaderBytesMax,
        enablePush: false,
      },
      maxSessionMemory: limits.rpcConnectionMbMax,
      maxSendHeaderBlockLength: limits.rpcHeaderBytesMax,
    });
    closeWithPeer(connection);
    this.#session.once('connect', () => {
      // It may have been given up meanwhile.
      if (!this.isClosed) {
        this.#session.setLocalWindowSize(limits.rpcConnectionWindowBytes);
      }
    });
    this.#session.on('error', (error) => log.debug({ err: error }, 'the connection of a session broke'));
    this.closed = new Promise((resolve) => {
      this.#session.once('close', () => resolve());
    });
  }

  get isClosed(): boolean {
    return this.#session.closed || this.#session.destroyed;
  }

  destroy(): void {
    this.#session.destroy();
  }

  /** One question, one answer. Rejects with the peer's status as an error whose message begins with the method. */
  async unary(path: string, request: Uint8Array, options: CallOptions): Promise<Buffer> {
    await using call = this.call(path, options);
    await call.send(request);
    call.end();
    let answer: Buffer | undefined;
    for await (const messages of call.batches) {
      answer = messages.at(-1);
    }
    if (answer === undefined) {
      throw new EngineError('remote', `${nameOf(path)}: it answered nothing`);
    }
    return answer;
  }

  /** Begins a call that sends and receives; disposing gives it up where it is not over. */
  call(path: string, { signal, metadata = new Map(), timeoutMs }: CallOptions): RpcConversation {
    signal.throwIfAborted();
    if (this.isClosed) {
      throw new EngineError('unavailable', `${nameOf(path)}: the session is over`);
    }
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headersOf(metadata),
    });
    const ending = watchEnd(stream, { signal, timeoutMs });
    return {
      batches: answersOf(stream, path, ending),
      send: (...messages) => sendFrames(stream, messages),
      end: () => stream.end(),
      [Symbol.asyncDispose]: () => {
        ending.stop();
        if (!stream.closed) {
          stream.close(http2.constants.NGHTTP2_CANCEL);
        }
        return Promise.resolve();
      },
    };
  }
}

/** How a call ends, as far as it is known. */
interface Ending {
  status: RpcStatus | undefined;
  /** Why we gave it up. */
  reason: unknown;
  /** All that the peer had to say is known. */
  closed: Promise<void>;
  stop: () => void;
}

function watchEnd(
  stream: ClientHttp2Stream,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number | undefined },
): Ending {
  const giveUp = (reason: unknown): void => {
    ending.reason = reason;
    stream.close(http2.constants.NGHTTP2_CANCEL);
  };
  const onAbort = (): void => giveUp(signal.reason);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => giveUp(new EngineError('deadline_exceeded', 'it did not answer in time')),
          timeoutMs,
        );
  const ending: Ending = {
    status: undefined,
    reason: undefined,
    closed: new Promise((resolve) => {
      stream.once('close', () => resolve());
    }),
    stop: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
  signal.addEventListener('abort', onAbort, { once: true });
  stream.once('close', ending.stop);
  // An answer without any message has its status in its first headers.
  stream.once('response', (headers) => {
    ending.status ??= readTrailers(headers);
  });
  stream.once('trailers', (headers) => {
    ending.status = readTrailers(headers);
  });
  // The messages end with it.
  stream.on('error', (error) => {
    ending.reason ??= error;
  });
  return ending;
}

async function* answersOf(
  stream: ClientHttp2Stream,
  path: string,
  ending: Ending,
): AsyncGenerator<readonly Buffer[], void> {
  try {
    yield* batchesOf(stream, limits.rpcMessageBytesMax);
  } catch (error) {
    if (!isEngineError(error, 'canceled')) {
      throw error;
    }
    // Below it is said why.
  }
  if (ending.status === undefined && (stream.closed || stream.destroyed)) {
    // A peer that wants no more resets the stream; its status, which came before that, is told after it.
    await ending.closed;
  }
  const { status, reason } = ending;
  if (isEngineError(reason)) {
    throw reason;
  }
  if (status === undefined) {
    throw new EngineError('unavailable', `${nameOf(path)}: the session ended meanwhile`, { cause: reason });
  }
  if (status.code !== OK) {
    throw errorOf(status, nameOf(path));
  }
  if (!isSoonClosed(stream)) {
    stream.end();
  }
}

/** `FileSync/DiffCopy` */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('.', path.lastIndexOf('/')) + 1);
}
