import { EngineError } from '../../daemon/base/errors.ts';
import type { ErrorCode } from '../../daemon/base/errors.ts';

/** Why a call of the store failed, for callers that decide on it. */
export type StoreFailure =
  /** A key is not as the commit requires it: read again, decide again. Nothing was written. */
  | 'conflict'
  /** The election whose fence the commit carries is over: stop leading. Nothing was written. */
  | 'fenced'
  /** The revision asked for is forgotten: view anew. */
  | 'compacted'
  /** No majority, no member, or too much at once. Nothing was written. */
  | 'unavailable'
  /** The answer is lost: the commit may stand, or may come to stand yet. Read back before it is repeated. */
  | 'unknown'
  /** The database has reached its quota. Nothing was written. */
  | 'full'
  /** The caller's signal came first, or the store was closed. */
  | 'canceled'
  /** The call breaks a rule of the port: too large, a key twice. */
  | 'refused';

const CODES = {
  conflict: 'conflict',
  fenced: 'conflict',
  compacted: 'failed_precondition',
  unavailable: 'unavailable',
  unknown: 'deadline_exceeded',
  full: 'resource_exhausted',
  canceled: 'canceled',
  refused: 'invalid_argument',
} as const satisfies Record<StoreFailure, ErrorCode>;

/**
 * What every call of the store throws. `changed`: on `conflict`, the keys that are not as required. `stands`: on
 * `unknown`, the revision at which the commit is known to stand, where only its reading back took too long.
 */
export class StoreError extends EngineError {
  readonly failure: StoreFailure;
  readonly changed: readonly string[];
  readonly stands: number | undefined;

  constructor(
    failure: StoreFailure,
    message: string,
    options: { cause?: unknown; changed?: readonly string[]; stands?: number } = {},
  ) {
    super(CODES[failure], message, options);
    this.name = 'StoreError';
    this.failure = failure;
    this.changed = options.changed ?? [];
    this.stands = options.stands;
  }
}

export function isStoreError(error: unknown, failure: StoreFailure): boolean {
  return error instanceof StoreError && error.failure === failure;
}
