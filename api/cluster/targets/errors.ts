import { EngineError } from '../../../daemon/base/errors.ts';
import { InvalidFieldsError } from '../../../daemon/base/invalid-fields.ts';
import { toHttpFailure, type HttpFailure } from '../../errors.ts';

/** An error in the shape of the original: its kind is in a header, its parts are in the body. */
export interface TargetsFailure {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Readonly<Record<string, unknown>>;
  level: HttpFailure['level'];
}

interface Kind {
  name: string;
  status: number;
}

const VALIDATION: Kind = { name: 'ValidationException', status: 400 };

/** By the engine's codes; others are an InternalServerException. */
const KINDS: Readonly<Record<string, Kind>> = {
  invalid_argument: VALIDATION,
  unauthorized: { name: 'UnrecognizedClientException', status: 403 },
  forbidden: { name: 'AccessDeniedException', status: 403 },
  not_found: { name: 'ResourceNotFoundException', status: 404 },
  conflict: { name: 'ConflictException', status: 409 },
  failed_precondition: { name: 'ConflictException', status: 409 },
  resource_exhausted: { name: 'ServiceQuotaExceededException', status: 402 },
  not_implemented: { name: 'NotImplementedException', status: 501 },
  unavailable: { name: 'ServiceUnavailableException', status: 503 },
};

/** Total: everything that is thrown becomes an answer. */
export function toTargetsFailure(error: unknown): TargetsFailure {
  const { message, level } = toHttpFailure(error);
  const { name, status } = kindOf(error);
  return {
    status,
    headers: { 'x-amzn-errortype': name, ...retryAfter(error) },
    body: { message, ...partsOf(error, name) },
    level,
  };
}

function kindOf(error: unknown): Kind {
  if (error instanceof EngineError && typeof error.details['kind'] === 'string') {
    // What refuses a signature says which of the original's errors it is.
    return {
      name: error.details['kind'],
      status: error.details['kind'] === 'ThrottlingException' ? 429 : 403,
    };
  }
  if (
    error instanceof EngineError &&
    error.code === 'not_found' &&
    error.details['resourceId'] === undefined
  ) {
    // No resource is missing: there is no such path.
    return { name: 'UnknownOperationException', status: 404 };
  }
  const known = error instanceof EngineError ? KINDS[error.code] : undefined;
  return known ?? { name: 'InternalServerException', status: 500 };
}

/** Of the original's words for what is wrong with a request. */
function reasonOf(error: unknown): 'cannotParse' | 'unknownOperation' | 'other' {
  const reason = error instanceof EngineError ? error.details['reason'] : undefined;
  if (reason === 'cannotParse') {
    return reason;
  }
  return reason === 'MethodNotAllowed' ? 'unknownOperation' : 'other';
}

function retryAfter(error: unknown): Record<string, string> {
  const seconds = error instanceof EngineError ? error.details['retryAfterS'] : undefined;
  return typeof seconds === 'number' ? { 'Retry-After': String(seconds) } : {};
}

function partsOf(error: unknown, name: string): Record<string, unknown> {
  if (error instanceof InvalidFieldsError) {
    return {
      reason: 'fieldValidationFailed',
      fieldList: error.fields.map(({ field, message }) => ({ name: field, message })),
    };
  }
  const { resourceId, resourceType, quotaCode } = error instanceof EngineError ? error.details : {};
  return {
    ...(name === VALIDATION.name && { reason: reasonOf(error) }),
    ...(typeof resourceId === 'string' && { resourceId }),
    ...(typeof resourceType === 'string' && { resourceType }),
    ...(typeof quotaCode === 'string' && { quotaCode, serviceCode: 'vpc-lattice' }),
  };
}
