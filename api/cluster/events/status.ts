import { EngineError, isEngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { toHttpFailure } from '../../errors.ts';
import type { ClusterFailure } from '../family.ts';

/** Kubernetes: `meta/v1.StatusReason`, with the code of each. */
const CODES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

type Reason = keyof typeof CODES;

/** Kubernetes: `meta/v1.Status`. */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string };
  status: 'Failure' | 'Success';
  message?: string;
  reason?: string;
  details?: object;
  code?: number;
}

/** Of the reasons that errors of the engine have where none is said. */
const REASONS: Readonly<Record<number, Reason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** The `Status` that an error is answered with, or that ends a watch. Total. */
export function statusOf(error: unknown): Status & { code: number } {
  const { status: engines, message } = toHttpFailure(error);
  const details = error instanceof EngineError ? error.details : {};
  const said = details['reason'];
  const reason = isReason(said) ? said : REASONS[engines];
  const code = reason === undefined ? engines : CODES[reason];
  const { object, causes, continue: next } = details;
  const retryAfterSeconds = code === 503 || code === 429 ? limits.clusterAwayRetryAfterS : undefined;
  const shown = {
    ...(typeof object === 'object' && object),
    ...(Array.isArray(causes) && causes.length > 0 && { causes }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: typeof next === 'string' ? { continue: next } : {},
    status: 'Failure',
    message: code === 401 ? 'Unauthorized' : message,
    reason: reason ?? 'InternalError',
    ...(Object.keys(shown).length > 0 && { details: shown }),
    code,
  };
}

/** An answer that is an error. */
export function statusFailure(error: unknown): ClusterFailure {
  const status = statusOf(error);
  const isOfEngine = status.code >= 500 && !isEngineError(error, 'not_implemented');
  return {
    status: status.code,
    headers: {
      ...(status.code === 401 && { 'WWW-Authenticate': 'Bearer realm="cluster"' }),
      ...((status.code === 503 || status.code === 429) && {
        'Retry-After': String(limits.clusterAwayRetryAfterS),
      }),
    },
    contentType: 'application/json',
    body: `${JSON.stringify(status)}\n`,
    level: isOfEngine ? toHttpFailure(error).level : 'debug',
  };
}

function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(CODES, value);
}
