/**
 * The one error vocabulary of the engine. Every layer throws `EngineError`; only `api/errors.ts` knows HTTP.
 * `message` is wire text: a sentence that names the operation and the object, because clients print it as it is.
 */

/** What went wrong, in the engine's terms. `api/errors.ts` maps each code to one HTTP status. */
export type ErrorCode =
  | 'not_found'
  | 'conflict'
  | 'not_modified'
  | 'invalid_argument'
  | 'unauthorized'
  | 'forbidden'
  | 'unavailable'
  /** Another server (registry, token service, download) refused, failed or could not be reached. */
  | 'remote'
  | 'not_implemented'
  | 'canceled'
  | 'deadline_exceeded'
  | 'resource_exhausted'
  | 'failed_precondition'
  | 'internal';

export interface EngineErrorOptions {
  cause?: unknown;
  /** Facts for logs and for callers that decide on them; never sent to clients. */
  details?: Readonly<Record<string, unknown>>;
}

/** Something outside of the program failed (input, kernel, disk, registry). A bug is an `InvariantError` instead. */
export class EngineError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: EngineErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'EngineError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** A broken promise of our own code. The request fails as 500, the log line is fatal, a test run fails. */
export class InvariantError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvariantError';
  }
}

/** Throws `InvariantError` unless `condition` holds. For programmer errors only: no user may be able to cause it. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) {
    throw new InvariantError(message);
  }
}

/** The `default:` of every exhaustive switch: a forgotten case does not compile. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable value ${JSON.stringify(value)}`);
}

/** The disk is full, or about to be: clients are told that apart from bounds of the engine's own. */
export function diskFull(message: string, { details, ...options }: EngineErrorOptions = {}): EngineError {
  return new EngineError('resource_exhausted', message, {
    ...options,
    details: { ...details, isDiskFull: true },
  });
}

export function isDiskFull(error: unknown): error is EngineError {
  return error instanceof EngineError && error.details['isDiskFull'] === true;
}

export function isEngineError(error: unknown, code?: ErrorCode): error is EngineError {
  return error instanceof EngineError && (code === undefined || error.code === code);
}

/** The text of anything thrown, for wrapping it into a sentence. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The errno name (`ENOENT`, ...) of a Node.js or kernel error, or undefined. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string') {
    return error.code;
  }
  return undefined;
}

/**
 * What `step` answers; undefined when it fails with one of these errno codes, by default because a file is not there.
 * Throws whatever else it throws.
 */
export function ifThere<T>(step: () => T, codes: readonly string[] = ['ENOENT']): T | undefined {
  try {
    return step();
  } catch (error) {
    if (codes.includes(errnoOf(error) ?? '')) {
      return undefined;
    }
    throw error;
  }
}

export const notFound = (message: string, options?: EngineErrorOptions): EngineError =>
  new EngineError('not_found', message, options);
export const conflict = (message: string, options?: EngineErrorOptions): EngineError =>
  new EngineError('conflict', message, options);
export const invalidArgument = (message: string, options?: EngineErrorOptions): EngineError =>
  new EngineError('invalid_argument', message, options);
export const notImplemented = (message: string, options?: EngineErrorOptions): EngineError =>
  new EngineError('not_implemented', message, options);
/**
 * A condition that the request needs does not hold, and its sender can change that: a port is taken, a receiver is
 * away.
 */
export const failedPrecondition = (message: string, options?: EngineErrorOptions): EngineError =>
  new EngineError('failed_precondition', message, options);
export const internal = (message: string, options?: EngineErrorOptions): EngineError =>
  new EngineError('internal', message, options);
