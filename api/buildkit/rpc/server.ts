import http2 from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { EngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { batchesOf, flat, isSoonClosed, sendFrames } from './stream.ts';
import { metadataOf, timeoutMsOf, type Metadata } from './metadata.ts';
import { closeWithPeer } from './peer-end.ts';
import { endWithoutPings } from './pings.ts';
import { OK, statusOf, trailersOf, type RpcStatus } from './status.ts';

/** A call that a client makes. It ends when its method resolves, with an error when that rejects. */
export interface RpcCall {
  metadata: Metadata;
  /** Aborted when the client gives up, when its deadline is over, and when the connection ends. */
  signal: AbortSignal;
  /** What the client sends, message by message. */
  messages: AsyncIterable<Buffer>;
  /** Resolves when there is room for more. Rejects with `canceled` when nobody reads any more. */
  send: (message: Uint8Array) => Promise<void>;
  /** Begins the answer with these headers, before its first message. Without it that begins the answer. */
  sendHead: (headers: Readonly<Record<string, string>>) => void;
}

export type RpcMethod = (call: RpcCall) => Promise<void>;

export interface RpcServerOptions {
  /** By path: `/package.Service/Method`. */
  methods: ReadonlyMap<string, RpcMethod>;
  log: Logger;
  /** What an error of a method is to the client; its code and text by default. */
  statusOf?: (error: unknown) => RpcStatus;
  /** Between two pings; who answers none of two is gone. */
  pingMs?: number;
}

/** A connection that is served. */
export interface RpcServer {
  /** Resolves when the connection is over. */
  closed: Promise<void>;
  /** No further calls; those under way go on. */
  close(): void;
  destroy(): void;
}

const SETTINGS = {
  initialWindowSize: limits.rpcStreamWindowBytes,
  maxConcurrentStreams: limits.rpcStreamsMax,
  maxHeaderListSize: limits.rpcHeaderBytesMax,
  enablePush: false,
};

/**
 * Serves gRPC on a connection on which the client begins with the preface of HTTP/2. By hand on node:http2 and not by
 * `@grpc/grpc-js`: that shows repeated metadata only joined, tells of cancellation also where a call is over, and has
 * no client for a connection that is there already, so that the framing would be here all the same.
 */
export function serveRpc(connection: Duplex, options: RpcServerOptions): RpcServer {
  const session: ServerHttp2Session = http2.performServerHandshake(connection, {
    settings: SETTINGS,
    maxSessionMemory: limits.rpcConnectionMbMax,
    maxSendHeaderBlockLength: limits.rpcTrailerBytesMax,
    unknownProtocolTimeout: limits.requestHeadersTimeoutMs,
  });
  session.setLocalWindowSize(limits.rpcConnectionWindowBytes);
  closeWithPeer(connection);
  endWithoutPings(session, options.pingMs ?? limits.rpcPingMs);
  session.on('error', (error) => options.log.debug({ err: error }, 'a gRPC connection broke'));
  session.on(
    'stream',
    (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
      // A stream that breaks tells its method by the signal and the end of its messages.
      stream.on('error', (error: Error) => options.log.debug({ err: error }, 'a gRPC call broke'));
      const path = headers[':path'] ?? '';
      void serveStream(stream, { path, headers, rawHeaders }, options).catch((error: unknown) => {
        options.log.error({ err: error, path }, 'a gRPC call was not answered');
        stream.destroy();
      });
    },
  );
  return {
    closed: closeOf(session),
    close: () => session.close(),
    destroy: () => session.destroy(),
  };
}

function closeOf(session: ServerHttp2Session): Promise<void> {
  return new Promise((resolve) => {
    session.once('close', () => resolve());
  });
}

interface Head {
  path: string;
  headers: IncomingHttpHeaders;
  rawHeaders: readonly string[];
}

async function serveStream(
  stream: ServerHttp2Stream,
  { path, headers, rawHeaders }: Head,
  options: RpcServerOptions,
): Promise<void> {
  if (headers['content-type']?.startsWith('application/grpc') !== true) {
    stream.respond({ ':status': 415 }, { endStream: true });
    return;
  }
  const answer = new Answer(stream);
  const stop = new AbortController();
  const deadline = deadlineOf(headers, stop);
  stream.once('close', () => {
    clearTimeout(deadline);
    stop.abort(new EngineError('canceled', 'the client gave the call up'));
  });
  try {
    const method = options.methods.get(path);
    if (method === undefined) {
      throw new EngineError('not_implemented', `unknown method ${path}`);
    }
    await untilAborted(
      method({
        metadata: metadataOf(rawHeaders),
        signal: stop.signal,
        messages: flat(batchesOf(stream, limits.rpcMessageBytesMax)),
        send: (message) => answer.send(message),
        sendHead: (more) => answer.begin(more),
      }),
      stop.signal,
    );
    answer.end({ code: OK, message: '', details: [] });
  } catch (error) {
    answer.end((options.statusOf ?? statusOf)(error));
  } finally {
    clearTimeout(deadline);
  }
}

/** Ends with the method, or at the deadline: the method then ends by its signal, and nobody waits for it. */
async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = new Promise<never>((_resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error); // Of ours, below.
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) {
      giveUp();
    }
  });
  await Promise.race([work, aborted]);
}

function deadlineOf(headers: IncomingHttpHeaders, stop: AbortController): NodeJS.Timeout | undefined {
  const given = headers['grpc-timeout'];
  const timeoutMs = timeoutMsOf(typeof given === 'string' ? given : undefined);
  return timeoutMs === undefined || timeoutMs > limits.rpcDeadlineMsMax
    ? undefined
    : setTimeout(
        () => stop.abort(new EngineError('deadline_exceeded', 'context deadline exceeded')),
        timeoutMs,
      );
}

/** The sending side of a call. */
class Answer {
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
  }

  begin(more: Readonly<Record<string, string>> = {}): void {
    const stream = this.#stream;
    if (!isSoonClosed(stream) && !stream.headersSent) {
      const head = { ':status': 200, 'content-type': 'application/grpc', ...more };
      stream.respond(head, { waitForTrailers: true });
    }
  }

  async send(message: Uint8Array): Promise<void> {
    this.begin();
    await sendFrames(this.#stream, [message]);
  }

  end(status: RpcStatus): void {
    const stream = this.#stream;
    if (isSoonClosed(stream)) {
      return;
    }
    const trailers = trailersOf(status);
    if (stream.headersSent) {
      stream.once('wantTrailers', () => stream.sendTrailers(trailers));
      stream.end();
    } else {
      const head = { ':status': 200, 'content-type': 'application/grpc', ...trailers };
      stream.respond(head, { endStream: true });
    }
    // What the client still sends is for nobody.
    stream.resume();
  }
}
