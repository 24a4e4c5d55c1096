import type { RegistryErrorCode, RegistryRefusal } from '../../../api/types/hub/registry.ts';
import { EngineError, type ErrorCode } from '../../base/errors.ts';

/** What each error of the specification is in the engine's terms. */
const CODES: Readonly<Record<RegistryErrorCode, ErrorCode>> = {
  BLOB_UNKNOWN: 'not_found',
  BLOB_UPLOAD_INVALID: 'invalid_argument',
  BLOB_UPLOAD_UNKNOWN: 'not_found',
  DIGEST_INVALID: 'invalid_argument',
  MANIFEST_BLOB_UNKNOWN: 'not_found',
  MANIFEST_INVALID: 'invalid_argument',
  MANIFEST_UNKNOWN: 'not_found',
  NAME_INVALID: 'invalid_argument',
  NAME_UNKNOWN: 'not_found',
  PAGINATION_NUMBER_INVALID: 'invalid_argument',
  RANGE_INVALID: 'invalid_argument',
  SIZE_INVALID: 'invalid_argument',
  TAG_INVALID: 'invalid_argument',
  UNAUTHORIZED: 'unauthorized',
  DENIED: 'forbidden',
  UNSUPPORTED: 'invalid_argument',
  TOOMANYREQUESTS: 'resource_exhausted',
  UNAVAILABLE: 'unavailable',
  UNKNOWN: 'internal',
};

/** An error that the registry's clients know by its code. `details` are for those who decide on it. */
export function refusal(
  code: RegistryErrorCode,
  message: string,
  { details, ...rest }: Omit<RegistryRefusal, 'code'> & { details?: Readonly<Record<string, unknown>> } = {},
): EngineError {
  return new EngineError(CODES[code], message, {
    details: { ...details, registry: { code, ...rest } satisfies RegistryRefusal },
  });
}
