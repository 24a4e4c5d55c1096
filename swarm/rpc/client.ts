import { constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { RpcClient } from './port.ts';
import { lost, only, receive, receiveOne, send } from './wire.ts';

interface Deps {
  addr: string;
  clock: Clock;
  session(): Promise<ClientHttp2Session>;
  onDispose(): void;
}

const bytesMax = (): number => limits.swarmMessageBytesMax;

/** Calls of one manager. The connection behind it may be another one at each call. */
export class Client implements RpcClient {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get addr(): string {
    return this.#deps.addr;
  }

  async call(
    method: string,
    body: unknown,
    options: { signal?: AbortSignal; timeoutMs?: number } = {},
  ): Promise<unknown> {
    const { timeoutMs = limits.swarmCallMs, signal } = options;
    const late = new AbortController();
    using _timer = this.#deps.clock.setTimeout(() => {
      late.abort(new EngineError('deadline_exceeded', `${method} of ${this.addr}: no answer in time`));
    }, timeoutMs);
    const ends = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
    return await this.#with(method, ends, async (stream) => {
      void send(stream, only(body)).catch(unheard);
      return await receiveOne(stream, bytesMax);
    });
  }

  async *stream(method: string, body: unknown, signal: AbortSignal): AsyncGenerator {
    const stream = await this.#open(method, signal);
    using _end = closing(stream, signal);
    try {
      void send(stream, only(body)).catch(unheard);
      yield* receive(stream, bytesMax);
    } catch (error) {
      throw reasonOf(signal) ?? error;
    } finally {
      stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  upload(method: string, values: AsyncIterable<unknown>, signal: AbortSignal): Promise<unknown> {
    return this.#with(method, signal, async (stream) => {
      void send(stream, values).catch(unheard);
      return await receiveOne(stream, bytesMax);
    });
  }

  [Symbol.dispose](): void {
    this.#deps.onDispose();
  }

  async #with<T>(
    method: string,
    signal: AbortSignal,
    use: (stream: ClientHttp2Stream) => Promise<T>,
  ): Promise<T> {
    const stream = await this.#open(method, signal);
    using _end = closing(stream, signal);
    try {
      return await use(stream);
    } catch (error) {
      throw reasonOf(signal) ?? error;
    } finally {
      stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  async #open(method: string, signal: AbortSignal): Promise<ClientHttp2Stream> {
    const session = await unlessAborted(this.#deps.session(), signal);
    if (session.closed || session.destroyed) {
      throw lost();
    }
    const stream = session.request({ ':method': 'POST', ':path': `/${method}` });
    stream.on('error', () => stream.destroy());
    return stream;
  }
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(reasonOf(signal) ?? lost());
    const done = (): void => signal.removeEventListener('abort', fail);
    signal.addEventListener('abort', fail);
    work.then(resolve, reject).finally(done);
    if (signal.aborted) {
      fail();
    }
  });
}

function closing(stream: ClientHttp2Stream, signal: AbortSignal): Disposable {
  const end = (): void => stream.close(constants.NGHTTP2_CANCEL);
  signal.addEventListener('abort', end);
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', end) };
}

function reasonOf(signal: AbortSignal): Error | undefined {
  if (!signal.aborted) {
    return undefined;
  }
  return signal.reason instanceof EngineError
    ? signal.reason
    : new EngineError('canceled', 'canceled', { cause: signal.reason });
}

/** The answer says what went wrong: a body that could not be sent has none, or an error. */
function unheard(): void {
  // See above.
}
