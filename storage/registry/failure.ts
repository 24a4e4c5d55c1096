import { STATUS_CODES } from 'node:http';
import { EngineError, type ErrorCode } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { parseChallenges } from './challenge.ts';
import { textOf, type HttpResponse } from './http.ts';

/** What a registry said when it refused (distribution specification, "error codes"). */
export interface RegistryFailure {
  status: number;
  /** `MANIFEST_UNKNOWN`, `DENIED`, ...; empty when its answer names none. */
  code: string;
  /** `manifest unknown: manifest unknown` */
  text: string;
  /** Worth another attempt. */
  retryable: boolean;
  /** A pause that the registry asked for. */
  retryAfterMs: number | undefined;
}

const CODES: Readonly<Record<string, ErrorCode>> = {
  DENIED: 'forbidden',
  MANIFEST_UNKNOWN: 'not_found',
  NAME_UNKNOWN: 'not_found',
  BLOB_UNKNOWN: 'not_found',
};
const STATUSES: Readonly<Record<number, ErrorCode>> = {
  403: 'forbidden',
  404: 'not_found',
};
/** What a status says by itself, where there is no document (an answer to HEAD has none). */
const IMPLIED: Readonly<Record<number, { code: string; message: string }>> = {
  401: { code: 'UNAUTHORIZED', message: 'authentication required' },
  403: { code: 'DENIED', message: 'requested access to the resource is denied' },
  429: { code: 'TOOMANYREQUESTS', message: 'too many requests' },
};
const RETRYABLE = new Set([408, 429, 500, 502, 503, 504]);

/** The error for an answer that is no success; its details are the `RegistryFailure`. Reads the body. */
export async function registryError(answer: HttpResponse): Promise<EngineError> {
  const { status, headers } = answer;
  const body = await textOf(answer, limits.registryErrorBytesMax).catch(() => {
    // A refusal whose text does not arrive is a refusal all the same.
    return '';
  });
  const { code, message } = isDenied(answer)
    ? { code: 'DENIED', message: 'requested access to the resource is denied' }
    : (firstError(body, status) ?? implied(answer, body));
  const fallback =
    `received unexpected HTTP status: ${status} ${STATUS_CODES[status] ?? ''}`.trim() +
    (answer.proxy === undefined ? '' : ` (through the proxy ${answer.proxy})`);
  const words = code.toLowerCase().replaceAll('_', ' ');
  const text = code === '' ? fallback : `${words}: ${message}`;
  const failure: RegistryFailure = {
    status,
    code,
    text,
    retryable: RETRYABLE.has(status),
    retryAfterMs: retryAfterOf(headers['retry-after']),
  };
  return new EngineError(CODES[code] ?? STATUSES[status] ?? 'remote', text, { details: { ...failure } });
}

function implied({ status, proxy }: HttpResponse, body: string): { code: string; message: string } {
  const said = (body === '' || status === 401) && proxy === undefined ? IMPLIED[status] : undefined;
  return said ?? { code: '', message: '' };
}

/** A token that is good, but not for this (RFC 6750, 3.1). */
function isDenied({ status, headers }: HttpResponse): boolean {
  return (
    status === 401 &&
    parseChallenges(headers['www-authenticate']).some(
      ({ scheme, parameters }) => scheme === 'bearer' && parameters['error'] === 'insufficient_scope',
    )
  );
}

/** Whether the same request may succeed later: the connection broke, or the registry is busy or ill. */
export function isRetryable(error: unknown): error is EngineError {
  return (
    error instanceof EngineError &&
    (error.details['retryable'] === true || error.code === 'deadline_exceeded')
  );
}

/** The code a registry gave in its refusal; empty for other errors. */
export function registryCodeOf(error: unknown): string {
  const code = error instanceof EngineError ? error.details['code'] : undefined;
  return typeof code === 'string' ? code : '';
}

/** `{"errors":[{"code","message"}]}` of a registry, or `{"details"}`, as Docker Hub's token service says it. */
function firstError(body: string, status: number): { code: string; message: string } | undefined {
  try {
    const document: unknown = JSON.parse(body);
    if (!isRecord(document)) {
      return undefined;
    }
    const { errors, details } = document;
    if (typeof details === 'string' && details !== '') {
      return { code: IMPLIED[status]?.code ?? 'UNKNOWN', message: shortened(details) };
    }
    const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
    if (!isRecord(first) || typeof first['code'] !== 'string' || !/^[A-Z][A-Z_]{0,60}$/.test(first['code'])) {
      return undefined;
    }
    const message = typeof first['message'] === 'string' ? first['message'] : '';
    return { code: first['code'], message: shortened(message) };
  } catch {
    // No error document of a registry: a proxy's page, or nothing.
    return undefined;
  }
}

function shortened(message: string): string {
  return message.slice(0, limits.registryMessageLengthMax);
}

/** Milliseconds of a `Retry-After` header, seconds or a date; undefined for none. */
function retryAfterOf(header: string | undefined): number | undefined {
  if (header === undefined) {
    return undefined;
  }
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), limits.registryRetryAfterMaxMs);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
