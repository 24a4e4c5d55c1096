import { InvalidFieldsError } from '../../daemon/base/invalid-fields.ts';
import { EngineError, isDiskFull } from '../../daemon/base/errors.ts';
import { toHttpFailure, type HttpFailure } from '../errors.ts';

/** An answer that is an error (GitHub: `basic-error`, `validation-error`). */
export interface HubFailure {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Readonly<Record<string, unknown>>;
  level: HttpFailure['level'];
}

/** Total: everything that is thrown becomes an answer. */
export function toHubFailure(error: unknown, documentation: string): HubFailure {
  const { status: engines, message, level } = toHttpFailure(error);
  const status = statusOf(error, engines);
  return {
    status,
    headers: headersOf(error),
    body: {
      message: error instanceof InvalidFieldsError ? 'Validation Failed' : message,
      ...(error instanceof InvalidFieldsError && { errors: error.fields }),
      documentation_url: documentation,
      status: String(status),
    },
    level,
  };
}

function statusOf(error: unknown, engines: number): number {
  if (error instanceof InvalidFieldsError) {
    return 422;
  }
  if (isDiskFull(error)) {
    return 507;
  }
  if (error instanceof EngineError && error.code === 'resource_exhausted') {
    return 422;
  }
  if (error instanceof EngineError && error.details['retryAfterS'] !== undefined) {
    return 429;
  }
  return error instanceof EngineError && error.details['retired'] === true ? 410 : engines;
}

/** What the token would have needed, or when to ask again. */
function headersOf(error: unknown): Record<string, string> {
  const details = error instanceof EngineError ? error.details : {};
  const { acceptedScopes, acceptedPermissions, retryAfterS, signOn, isBasic } = details;
  return {
    ...(typeof signOn === 'string' && { 'X-Svc-SSO': signOn, 'X-GitHub-SSO': signOn }),
    ...(typeof retryAfterS === 'number' && { 'Retry-After': String(retryAfterS) }),
    ...(Array.isArray(acceptedScopes) && { 'X-Accepted-OAuth-Scopes': acceptedScopes.join(', ') }),
    ...(typeof acceptedPermissions === 'string' && {
      'X-Accepted-Svc-Permissions': acceptedPermissions,
      'X-Accepted-GitHub-Permissions': acceptedPermissions,
    }),
    ...(error instanceof EngineError &&
      error.code === 'unauthorized' && {
        'WWW-Authenticate': `${isBasic === true ? 'Basic' : 'Bearer'} realm="hub"`,
      }),
  };
}
