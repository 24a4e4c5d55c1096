import { EngineError, InvariantError, errorText, isEngineError } from '../daemon/base/errors.ts';
import type { ErrorCode } from '../daemon/base/errors.ts';

/**
 * The only place that knows which HTTP status an engine error is (moby daemon/server/httpstatus). Three differ, as
 * dockerd has no error of that meaning and answers 500 to it:
 * - canceled: the client hung up and sees nothing, or the daemon is stopping, and then it is 503;
 * - deadline_exceeded: a registry, plugin or process did not answer in time, 504;
 * - resource_exhausted: a pool or a queue is full now and may not be later, 503.
 */
export const HTTP_STATUS = {
  not_found: 404,
  conflict: 409,
  not_modified: 304,
  invalid_argument: 400,
  unauthorized: 401,
  forbidden: 403,
  unavailable: 503,
  remote: 500,
  not_implemented: 501,
  canceled: 503,
  deadline_exceeded: 504,
  resource_exhausted: 503,
  failed_precondition: 500,
  internal: 500,
} as const satisfies Record<ErrorCode, number>;

/** What of an error goes where: `status` and `message` to the client, `level` to the log. */
export interface HttpFailure {
  status: number;
  message: string;
  level: 'debug' | 'info' | 'error' | 'fatal';
}

/**
 * Total: everything that is thrown becomes an answer. A broken invariant is fatal in the log, but only a 500 for its
 * request.
 */
export function toHttpFailure(error: unknown): HttpFailure {
  if (error instanceof InvariantError) {
    return { status: 500, message: error.message, level: 'fatal' };
  }
  if (!isEngineError(error)) {
    return { status: 500, message: errorText(error), level: 'error' };
  }
  const status = HTTP_STATUS[error.code];
  return { status, message: error.message, level: levelOf(error, status) };
}

function levelOf(error: EngineError, status: number): HttpFailure['level'] {
  // A client that hung up, a 501 and a failure of another server are no faults of the engine; other 5xx are.
  if (error.code === 'canceled' || error.code === 'not_modified') {
    return 'debug';
  }
  // 500 because dockerd has it so; nothing is wrong with the engine.
  const isOfOthers = error.code === 'remote' || error.code === 'failed_precondition';
  return status >= 500 && status !== 501 && !isOfOthers ? 'error' : 'info';
}
