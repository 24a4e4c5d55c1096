import { formatNano, parseRfc3339Nano } from '../daemon/base/clock.ts';
import { invalidArgument } from '../daemon/base/errors.ts';
import { jsonProblem } from './pipeline/json-body.ts';
import type { Filters } from './types/ports.ts';

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
    return value === null ? absent : parseBool(value);
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
    const nano = parseTime(value, nowNano);
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

/** Anything but "", 0, no, false and none is true (moby httputils.BoolValue). */
export function parseBool(value: string): boolean {
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

const UNIT_NANO: Record<string, bigint> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/**
 * A time as `since` and `until` take it: UNIX seconds with up to nine decimals, an RFC 3339 time (date only, or without
 * zone, is UTC), or a Go duration before `nowNano`. undefined for anything else.
 */
export function parseTime(text: string, nowNano: bigint): bigint | undefined {
  const seconds = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(text);
  if (seconds) {
    const nano = BigInt(seconds[2] ?? '0') * 1_000_000_000n + BigInt((seconds[3] ?? '').padEnd(9, '0'));
    return seconds[1] === '-' ? -nano : nano;
  }
  const duration = parseDuration(text);
  if (duration !== undefined) {
    return nowNano - duration;
  }
  const date = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(:\d\d)?(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/.exec(text);
  if (!date) {
    return undefined;
  }
  const [, day, minutes = '00:00', second = ':00', fraction = '', zone = 'Z'] = date;
  try {
    return parseRfc3339Nano(`${day}T${minutes}${second}${fraction}${zone}`);
  } catch {
    // Looks like a date and is none (month 13): the caller names the parameter.
    return undefined;
  }
}

function bounded(nano: bigint): bigint {
  if (nano > TIME_NANO_MAX) {
    return TIME_NANO_MAX;
  }
  return nano < -TIME_NANO_MAX ? -TIME_NANO_MAX : nano;
}

/** Nanoseconds of a Go duration (`1h30m`, `1.5s`, `-10m`), or undefined. */
function parseDuration(text: string): bigint | undefined {
  const match = /^([+-]?)((?:\d{1,9}(?:\.\d{1,9})?(?:ns|us|µs|ms|s|m|h))+)$/.exec(text);
  if (!match) {
    return undefined;
  }
  let nano = 0n;
  for (const [, whole = '0', fraction = '', unit = 's'] of (match[2] ?? '').matchAll(
    /(\d+)(?:\.(\d+))?(ns|us|µs|ms|s|m|h)/g,
  )) {
    const unitNano = UNIT_NANO[unit] ?? 0n;
    nano += BigInt(whole) * unitNano + (BigInt(fraction.padEnd(9, '0')) * unitNano) / 1_000_000_000n;
  }
  return match[1] === '-' ? -nano : nano;
}
