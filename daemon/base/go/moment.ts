import { parseRfc3339Nano } from '../clock.ts';
import { invalidArgument } from '../errors.ts';
import { parseDuration } from './duration.ts';

const SECONDS = /^([+-]?)(\d+)(?:\.(\d*))?$/;
/** RFC 3339, cut off behind the day, the hour or the minute; each of them with a zone or without. */
const DATE = /^(\d{4}-\d\d-\d\d)(?:T(\d{1,2})(?::(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?)?(Z|[+-]\d\d:\d\d)?$/;

/**
 * A point in time as `since` and `until` take it, in nanoseconds since the epoch: a Go duration before `nowNano`
 * (`1h30m`; `-10m` lies ahead), UNIX seconds with a fraction, or RFC 3339, which may end with the day, the hour or the
 * minute and is UTC without a zone (moby daemon/internal/timestamp). undefined when it is none of them. Pure.
 */
export function tryParseMoment(text: string, nowNano: bigint): bigint | undefined {
  const seconds = ofSeconds(text);
  if (seconds !== undefined) {
    return seconds;
  }
  const duration = parseDuration(text);
  return duration === undefined ? ofDate(text) : nowNano - duration;
}

/** As `tryParseMoment`; throws invalid_argument. Pure. */
export function parseMoment(text: string, nowNano: bigint): bigint {
  const moment = tryParseMoment(text, nowNano);
  if (moment === undefined) {
    throw invalidArgument(`failed to parse time "${text}": neither a duration nor a time stamp`, {
      details: { value: text },
    });
  }
  return moment;
}

/** The one value that an `until` filter of a prune may have, as `parseMoment`. Throws invalid_argument. Pure. */
export function parseUntil(values: readonly string[], nowNano: bigint): bigint {
  const [value = '', ...others] = values;
  if (others.length > 0) {
    throw invalidArgument('more than one until filter specified');
  }
  return parseMoment(value, nowNano);
}

/** First of all: `0` is the beginning of time, though it is a duration, too. */
function ofSeconds(text: string): bigint | undefined {
  const [, sign, seconds = '', fraction = ''] = SECONDS.exec(text) ?? [];
  if (sign === undefined) {
    return undefined;
  }
  const nano = BigInt(seconds) * 1_000_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
  return sign === '-' ? -nano : nano;
}

function ofDate(text: string): bigint | undefined {
  const [, day, hour = '', minute = '00', second = '00', fraction = '0', zone = 'Z'] = DATE.exec(text) ?? [];
  if (day === undefined) {
    return undefined;
  }
  try {
    return parseRfc3339Nano(
      `${day}T${hour.padStart(2, '0')}:${minute}:${second}.${fraction.slice(0, 9)}${zone}`,
    );
  } catch {
    // A date the calendar does not have: told as any other text that is no time.
    return undefined;
  }
}
