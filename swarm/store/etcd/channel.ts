import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import type { ClientDuplexStream, ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { EngineError, errorText, isEngineError } from '../../../daemon/base/errors.ts';
import type { ErrorCode } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { StoreError } from '../errors.ts';
import type { StoreFailure } from '../errors.ts';
import type { Sparse } from '../../../daemon/base/wire/protobuf.ts';
import type { Call } from './messages.ts';

/**
 * A member that does not answer pings is given up after 15 s: one that was stopped would hold a watch for ever. Nothing
 * is sent twice by the channel itself. etcd bounds what it takes, we ask in pages: answers have no bound here.
 */
const OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.min_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
};

/** One connection to one member, by its unix socket: `/run/etcd/name:1`. */
export class EtcdChannel implements Disposable {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure(), OPTIONS);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  /** One question, one answer. Throws StoreError, or `failed_precondition` with etcd's words. */
  ask<Q, A>(call: Call<Q, A>, request: Sparse<Q>, timeoutMs: number = limits.swarmStoreCallMs): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest<Sparse<Q>, A>(
        call.path,
        (value) => call.request.encode(value),
        (encoded) => call.answer.decode(encoded),
        request,
        new Metadata(),
        { deadline: Date.now() + timeoutMs },
        (error, answer) => {
          if (error !== null || answer === undefined) {
            reject(toStoreError(call, error ?? new Error('an empty answer')));
          } else {
            resolve(answer);
          }
        },
      );
    });
  }

  /** Questions and answers until one side ends; errors of it are for `toStoreError`. */
  talk<Q, A>(call: Call<Q, A>, timeoutMs?: number): ClientDuplexStream<Sparse<Q>, A> {
    return this.#client.makeBidiStreamRequest<Sparse<Q>, A>(
      call.path,
      (value) => call.request.encode(value),
      (encoded) => call.answer.decode(encoded),
      timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
    );
  }

  /** One question, many answers. */
  listen<Q, A>(call: Call<Q, A>, request: Sparse<Q>, timeoutMs: number): ClientReadableStream<A> {
    return this.#client.makeServerStreamRequest<Sparse<Q>, A>(
      call.path,
      (value) => call.request.encode(value),
      (encoded) => call.answer.decode(encoded),
      request,
      new Metadata(),
      { deadline: Date.now() + timeoutMs },
    );
  }
}

/** What etcd says where a call was refused before it was proposed to the other members, or could not be sent. */
const NOT_DONE =
  /no leader|too many requests|No connection established|ECONNREFUSED|ENOENT|unhealthy cluster/;

/** Codes that say by themselves what went wrong. */
const FAILURES: ReadonlyMap<status, StoreFailure> = new Map([
  [status.OUT_OF_RANGE, 'refused'],
  [status.INVALID_ARGUMENT, 'refused'],
  [status.RESOURCE_EXHAUSTED, 'unavailable'],
  [status.CANCELLED, 'canceled'],
]);

/** Codes of calls about leases and members: the caller knows what they mean. */
const ENGINE_CODES: ReadonlyMap<status, ErrorCode> = new Map([
  [status.FAILED_PRECONDITION, 'failed_precondition'],
  [status.NOT_FOUND, 'not_found'],
]);

type Failed = Pick<Call<unknown, unknown>, 'path' | 'writes'>;

/** The error of a call in the store's terms. */
export function toStoreError({ path, writes }: Failed, error: unknown): Error {
  if (isEngineError(error)) {
    return error;
  }
  const code = isServiceError(error) ? error.code : status.UNKNOWN;
  const words = isServiceError(error) ? error.details : errorText(error);
  const what = `etcd ${path.slice(path.lastIndexOf('/') + 1)}`;
  const engineCode = ENGINE_CODES.get(code);
  if (engineCode !== undefined) {
    return new EngineError(engineCode, `${what}: ${words}`, { cause: error });
  }
  const failure = failureOf(code, words);
  if (failure !== undefined) {
    return new StoreError(failure, `${what}: ${words}`, { cause: error });
  }
  return writes && !NOT_DONE.test(words)
    ? new StoreError('unknown', `${what}: no answer, it may stand: ${words}`, { cause: error })
    : new StoreError('unavailable', `${what}: no majority of the managers answers: ${words}`, {
        cause: error,
      });
}

function failureOf(code: status, words: string): StoreFailure | undefined {
  if (code === status.OUT_OF_RANGE && words.includes('compacted')) {
    return 'compacted';
  }
  return code === status.RESOURCE_EXHAUSTED && words.includes('space') ? 'full' : FAILURES.get(code);
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error && typeof error.code === 'number';
}
