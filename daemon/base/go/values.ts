import { invalidArgument } from '../errors.ts';

/**
 * Values of options as Docker's tools write them: read as Go's packages read them, refused in their words, because
 * clients and their documentation know these.
 */
const UNITS = 'kmgtp';

/** Bytes of `10m`, `1.5 GB`, `512`; `base` 1000 for files, 1024 for memory (units.FromHumanSize, units.RAMInBytes). */
export function parseSize(text: string, base: 1000 | 1024): number {
  const match = /^(\d+(?:\.\d+)?) ?([kmgtp])?i?b?$/i.exec(text);
  const bytes = Math.trunc(
    Number(match?.[1]) * base ** (match?.[2] ? UNITS.indexOf(match[2].toLowerCase()) + 1 : 0),
  );
  if (match === null || !Number.isSafeInteger(bytes)) {
    throw invalidArgument(`invalid size: '${text}'`);
  }
  return bytes;
}

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** strconv.ParseBool */
export function parseBool(text: string): boolean {
  if (!TRUE.has(text) && !FALSE.has(text)) {
    throw invalidArgument(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return TRUE.has(text);
}

/** strconv.Atoi */
export function parseInteger(text: string): number {
  const value = Number(text);
  if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw invalidArgument(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return value;
}

const DURATION_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of `1.5s`, `2m30s`, `0` (time.ParseDuration). Negative durations are refused. */
export function parseDurationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g)];
  if (text === '0') {
    return 0;
  }
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw invalidArgument(`time: invalid duration ${JSON.stringify(text)}`);
  }
  return parts.reduce((total, [, value, unit = '']) => total + Number(value) * (DURATION_MS[unit] ?? 0), 0);
}
