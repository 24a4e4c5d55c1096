import { EngineError, isEngineError } from '../../../daemon/base/errors.ts';
import { toHttpFailure, type HttpFailure } from '../../errors.ts';
import type { RegistryErrorCode, RegistryRefusal } from '../../types/hub/registry.ts';

/** An answer that is an error (OCI distribution 1.1, "Error Codes"). */
export interface RegistryFailure {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: { errors: readonly { code: RegistryErrorCode; message: string; detail?: unknown }[] };
  level: HttpFailure['level'];
}

/** Where clients get access tokens. */
export interface ChallengeFacts {
  realm: string;
  service: string;
}

const STATUSES: Readonly<Record<RegistryErrorCode, number>> = {
  BLOB_UNKNOWN: 404,
  BLOB_UPLOAD_INVALID: 400,
  BLOB_UPLOAD_UNKNOWN: 404,
  DIGEST_INVALID: 400,
  MANIFEST_BLOB_UNKNOWN: 404,
  MANIFEST_INVALID: 400,
  MANIFEST_UNKNOWN: 404,
  NAME_INVALID: 400,
  NAME_UNKNOWN: 404,
  PAGINATION_NUMBER_INVALID: 400,
  RANGE_INVALID: 416,
  SIZE_INVALID: 400,
  TAG_INVALID: 400,
  UNAUTHORIZED: 401,
  DENIED: 403,
  UNSUPPORTED: 405,
  TOOMANYREQUESTS: 429,
  UNAVAILABLE: 503,
  UNKNOWN: 500,
};

/** What errors of the engine are that say nothing of the registry. */
const CODES: ReadonlyMap<number, RegistryErrorCode> = new Map([
  [400, 'UNSUPPORTED'],
  [404, 'NAME_UNKNOWN'],
  [503, 'UNAVAILABLE'],
]);

/** Total: everything that is thrown becomes an answer. */
export function toRegistryFailure(error: unknown, facts: ChallengeFacts): RegistryFailure {
  const { status: engines, message, level } = toHttpFailure(error);
  const details = error instanceof EngineError ? error.details : {};
  if (!isRefusal(details['registry'])) {
    const isFull = isEngineError(error, 'resource_exhausted');
    const code = CODES.get(engines) ?? 'UNKNOWN';
    return { status: isFull ? 507 : engines, headers: {}, body: { errors: [{ code, message }] }, level };
  }
  const refusal = details['registry'];
  const { code, detail } = refusal;
  const { retryAfterS, status, uploaded } = details;
  return {
    status: typeof status === 'number' ? status : STATUSES[code],
    headers: {
      ...(code === 'UNAUTHORIZED' && { 'WWW-Authenticate': challenge(refusal, facts) }),
      ...(typeof retryAfterS === 'number' && { 'Retry-After': String(retryAfterS) }),
      ...(typeof uploaded === 'number' && { Range: `0-${Math.max(0, uploaded - 1)}` }),
    },
    body: { errors: [{ code, message, ...(detail !== undefined && { detail }) }] },
    level: 'debug',
  };
}

/** What Docker's token specification and RFC 6750 tell a client that has to show a token. */
export function challenge(
  { scope, tokenError }: Pick<RegistryRefusal, 'scope' | 'tokenError'>,
  { realm, service }: ChallengeFacts,
): string {
  const parts = { realm, service, scope, error: tokenError };
  const said = Object.entries(parts).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${value.replaceAll(/["\\]/g, '')}"`],
  );
  return `Bearer ${said.join(',')}`;
}

function isRefusal(value: unknown): value is RegistryRefusal {
  return typeof value === 'object' && value !== null && 'code' in value;
}
