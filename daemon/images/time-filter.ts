import { invalidArgument } from '../base/errors.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const DURATION_PART = /^(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)/;

/**
 * A point in time as filters give it, in milliseconds since the epoch: UNIX seconds with an optional fraction, a date
 * (`2024-01-31`, `2024-01-31T10:00:00`, RFC 3339; without a zone UTC), or a Go duration before now (`1h30m`).
 * Throws invalid_argument naming key and value.
 */
export function parseTimeFilter(key: string, value: string, nowMs: number): number {
  if (/^\d+(?:\.\d{1,9})?$/.test(value)) {
    return Number(value) * 1000;
  }
  const durationMs = parseDuration(value);
  if (durationMs !== undefined) {
    return nowMs - durationMs;
  }
  const isDate = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?$/.test(value);
  const hasZone = /(?:Z|[+-]\d\d:\d\d)$/.test(value.slice(10)) || value.length === 10;
  const time = isDate ? Date.parse(hasZone ? value : `${value}Z`) : Number.NaN;
  if (Number.isNaN(time)) {
    throw invalidArgument(`invalid filter '${key}=[${value}]': neither a time nor a duration`);
  }
  return time;
}

function parseDuration(text: string): number | undefined {
  let rest = text;
  let total = 0;
  while (rest !== '') {
    const match = DURATION_PART.exec(rest);
    if (match === null) {
      return undefined;
    }
    total += Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0);
    rest = rest.slice(match[0].length);
  }
  return text === '' ? undefined : total;
}
