import type { HealthConfig } from '../../../api/types/container.ts';
import { invalidArgument } from '../../base/errors.ts';
import { wholeNumber } from './refuse.ts';

/** Nanoseconds; as dockerd. */
const DURATION_MIN = 1_000_000;
const DURATIONS = ['Interval', 'Timeout', 'StartPeriod', 'StartInterval'] as const;
const FIELDS = [...DURATIONS, 'Retries'] as const;
const KINDS: ReadonlySet<string> = new Set(['NONE', 'CMD', 'CMD-SHELL']);

/**
 * The request's health check, completed by the image's: an empty Test and zeros inherit. Pure. Throws invalid_argument
 * for what the request gets wrong; a check of the image that cannot be run is a warning.
 */
export function mergeHealthcheck(
  request: HealthConfig | null | undefined,
  image: HealthConfig | null | undefined,
): { healthcheck?: HealthConfig; warnings: string[] } {
  if (request) {
    checkNumbers(request);
    checkTest(request.Test ?? []);
  }
  const inherited = image ?? {};
  const isInherited = !request?.Test?.length;
  const test = (isInherited ? inherited.Test : request.Test) ?? [];
  if (!request && !image) {
    return { warnings: [] };
  }
  if (isInherited && problemOf(test) !== undefined) {
    return {
      warnings: [`The image's HEALTHCHECK will not be run: ${problemOf(test)}`],
    };
  }
  const numbers = FIELDS.flatMap((field) => {
    const value = request?.[field] || inherited[field] || 0;
    return value === 0 ? [] : [[field, value] as const];
  });
  return {
    healthcheck: { ...(test.length > 0 && { Test: test }), ...Object.fromEntries(numbers) },
    warnings: [],
  };
}

function checkNumbers(request: HealthConfig): void {
  for (const field of DURATIONS) {
    const duration = wholeNumber(`Healthcheck.${field}`, request[field]);
    if (duration !== 0 && duration < DURATION_MIN) {
      throw invalidArgument(`${field} in Healthcheck cannot be less than 1ms`);
    }
  }
  if (wholeNumber('Healthcheck.Retries', request.Retries) < 0) {
    throw invalidArgument('Retries in Healthcheck cannot be negative');
  }
}

/** dockerd takes these, logs a warning and never checks. */
function checkTest(test: readonly string[]): void {
  const problem = problemOf(test);
  if (problem !== undefined) {
    throw invalidArgument(problem);
  }
}

function problemOf([kind, command]: readonly string[]): string | undefined {
  if (kind === undefined || kind === 'NONE') {
    return undefined;
  }
  if (!KINDS.has(kind)) {
    // A word that is no type may be the whole command, with whatever passwords are in it.
    const named = /^[A-Z-]+$/.test(kind) ? `'${kind}' ` : '';
    return `unknown type ${named}in Healthcheck.Test (expected 'NONE', 'CMD' or 'CMD-SHELL')`;
  }
  return command === undefined || (kind === 'CMD' && command === '')
    ? `Healthcheck.Test: ${kind} needs a command`
    : undefined;
}
