import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { Query } from '../../query.ts';

const UINT64_MAX = 2n ** 64n - 1n;
const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/**
 * The version of an object that a client has read: updates of another one are refused. Throws invalid_argument in
 * dockerd's words, which are short for secrets and configs.
 */
export function versionOf(query: Query, kind: 'swarm' | 'node' | 'service' | 'secret' | 'config'): number {
  const value = query.text('version') ?? '';
  const problem = uintProblem(value);
  if (problem === undefined) {
    // Past 2^53 it is no version of anything, whatever it is rounded to.
    return Number(value);
  }
  throw invalidArgument(
    kind === 'secret' || kind === 'config'
      ? `invalid ${kind} version`
      : `invalid ${kind} version '${value}': strconv.ParseUint: parsing ${JSON.stringify(value)}: ${problem}`,
  );
}

/** A parameter that is true or false; false where it is absent or empty. Throws invalid_argument in dockerd's words. */
export function flagOf(query: Query, name: string): boolean {
  const value = query.text(name) ?? '0';
  return (
    truthOf(value) ??
    refuse(
      `invalid value for ${name}: ${value}: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
    )
  );
}

/** As `flagOf`, of what is to be made anew: dockerd's words are short there. */
export function rotationOf(query: Query, name: string): boolean {
  const value = query.text(name) ?? '0';
  return truthOf(value) ?? refuse(`invalid value for ${name}: ${value}`);
}

function truthOf(value: string): boolean | undefined {
  return TRUE.has(value) ? true : FALSE.has(value) ? false : undefined;
}

function refuse(message: string): never {
  throw invalidArgument(message);
}

/** What Go's strconv says of it, or undefined. */
function uintProblem(value: string): string | undefined {
  if (!/^\d+$/.test(value)) {
    return 'invalid syntax';
  }
  return BigInt(value) > UINT64_MAX ? 'value out of range' : undefined;
}
