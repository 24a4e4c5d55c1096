import { parseRfc3339Nano } from '../clock.ts';
import { invalidArgument } from '../errors.ts';

const NANOS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

/**
 * A point in time as `until` filters take it: a duration before now (`24h`, `1h30m`), UNIX seconds with a fraction, or
 * RFC 3339 with date only, without seconds or without zone (UTC). Nanoseconds since the epoch. Pure.
 */
export function parseMoment(text: string, nowNano: bigint): bigint {
  const moment = ofDuration(text, nowNano) ?? ofSeconds(text) ?? ofDate(text);
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

function ofDuration(text: string, nowNano: bigint): bigint | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/.test(text)) {
    return undefined;
  }
  let nanos = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
    nanos += Number(amount) * (NANOS[unit ?? ''] ?? 0);
  }
  return nowNano - BigInt(Math.round(nanos));
}

function ofSeconds(text: string): bigint | undefined {
  const match = /^(\d{1,12})(?:\.(\d{1,9}))?$/.exec(text);
  return match ? BigInt(match[1] ?? 0) * 1_000_000_000n + BigInt((match[2] ?? '').padEnd(9, '0')) : undefined;
}

function ofDate(text: string): bigint | undefined {
  const match =
    /^(\d{4}-\d\d-\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d(?:\.\d{1,9})?))?)?)?(Z|[+-]\d\d:\d\d)?$/.exec(text);
  if (!match) {
    return undefined;
  }
  const [, date, hours = '00', minutes = '00', seconds = '00', zone = 'Z'] = match;
  try {
    return parseRfc3339Nano(`${date}T${hours}:${minutes}:${seconds}${zone}`);
  } catch {
    // A date the calendar does not have: told as any other text that is no time.
    return undefined;
  }
}
