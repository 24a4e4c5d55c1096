import { formatNano } from '../daemon/base/clock.ts';
import { invalidArgument } from '../daemon/base/errors.ts';
import { tryParseMoment } from '../daemon/base/go/moment.ts';
import { jsonProblem } from './pipeline/json-body.ts';
import type { Filters } from './types/requests.ts';

const NO_FILTERS: Filters = new Map();
const TERMINAL_SIDE_MAX = 65_535;
/** Later than anything that is stored: the year 2262, where int64 nanoseconds end. */
const TIME_NANO_MAX = 2n ** 63n - 1n;

/** The query parameters of one request, read the way dockerd reads them. Errors name the parameter and its value. */
export class Query {
  readonly #values: URLSearchParams;

  constructor(values: URLSearchParams) {
    this.#values = values;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** undefined when absent or empty: clients send `tag=` for "no tag". */
  text(name: string): string | undefined {
    return this.#values.get(name) || undefined;
  }

  /** Every value of a parameter that may be repeated. */
  texts(name: string): string[] {
    return this.#values.getAll(name).filter((value) => value !== '');
  }

  bool(name: string, absent = false): boolean {
    const value = this.#values.get(name);
    return value === null ? absent : boolValue(value);
  }

  /** A decimal integer, or undefined when absent or empty. */
  int(name: string): number | undefined {
    const value = this.#values.get(name);
    if (value === null || value === '') {
      return undefined;
    }
    const number = Number(value);
    if (!/^[+-]?\d+$/.test(value) || !Number.isSafeInteger(number)) {
      throw invalidArgument(`invalid value "${value}" for parameter ${name}: must be an integer`);
    }
    return number;
  }

  /** `h` and `w` of resize, which must be given and fit the kernel's `struct winsize`. */
  size(name: string): number {
    const value = this.#values.get(name) ?? '';
    if (!/^\d{1,5}$/.test(value) || Number(value) > TERMINAL_SIDE_MAX) {
      throw invalidArgument(
        `invalid value "${value}" for parameter ${name}: must be an unsigned integer up to ${TERMINAL_SIDE_MAX}`,
      );
    }
    return Number(value);
  }

  /** UNIX nanoseconds that fit int64, or undefined when absent, empty or 0, which mean "unbounded". */
  time(name: string, nowNano: bigint): bigint | undefined {
    const value = this.#values.get(name);
    if (value === null || value === '' || value === '0') {
      return undefined;
    }
    const nano = tryParseMoment(value, nowNano);
    if (nano === undefined) {
      throw invalidArgument(
        `invalid value "${value}" for parameter ${name}: must be seconds[.nanoseconds], a time as ` +
          `${formatNano(0n)} or a duration as 1h30m`,
      );
    }
    return bounded(nano);
  }

  filters(): Filters {
    const value = this.#values.get('filters');
    return value === null || value === '' ? NO_FILTERS : parseFilters(value);
  }
}

/** Every value except "", 0, no, false and none is true (moby httputils.BoolValue). */
export function boolValue(value: string): boolean {
  return !['', '0', 'no', 'false', 'none'].includes(value.trim().toLowerCase());
}

/**
 * Both forms of `filters` that clients send: `{"name":{"web":true}}` (docker CLI) and `{"name":["web"]}` (the
 * documented one; docker-py, dockerode). moby daemon/internal/filters tries them in this order. A key without values
 * constrains nothing, as null does; web pages send both for an empty form.
 */
export function parseFilters(text: string): Filters {
  const filters = new Map<string, readonly string[]>();
  for (const [key, value] of Object.entries(parseFilterObject(text))) {
    const values = filterValues(key, value);
    if (values.length > 0) {
      filters.set(key, values);
    }
  }
  return filters;
}

function filterValues(key: string, value: unknown): string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return value;
  }
  if (isBoolMap(value)) {
    return Object.keys(value);
  }
  throw invalidArgument(
    `invalid filters: "${key}" must be an array of strings or a map of strings to booleans`,
  );
}

function parseFilterObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidArgument(`invalid filters: ${jsonProblem(error)}`);
  }
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalidArgument('invalid filters: must be a JSON object');
  }
  return value ?? {};
}

function isBoolMap(value: unknown): value is Record<string, boolean> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((item) => typeof item === 'boolean')
  );
}

function bounded(nano: bigint): bigint {
  if (nano > TIME_NANO_MAX) {
    return TIME_NANO_MAX;
  }
  return nano < -TIME_NANO_MAX ? -TIME_NANO_MAX : nano;
}
