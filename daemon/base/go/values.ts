import { invalidArgument } from '../errors.ts';

/**
 * Values of options as Docker's tools write them: read as Go's packages read them, refused in their words, because
 * clients and their documentation know these.
 */
const UNITS = 'kmgtp';

/** `10m`, `1.5 GB`, `512`, `64KiB`; for the settings' schema, too. */
export const SIZE = /^(\+?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?) ?(?:[bB]|([kKmMgGtTpP])(?:[iI]?[bB])?)?$/;

/** Bytes of a `SIZE`; `base` 1000 for files, 1024 for memory (units.FromHumanSize, units.RAMInBytes). */
export function parseSize(text: string, base: 1000 | 1024): number {
  const [, amount, unit] = SIZE.exec(text) ?? [];
  const power = unit === undefined ? 0 : UNITS.indexOf(unit.toLowerCase()) + 1;
  const bytes = Math.trunc(Number(amount) * base ** power);
  if (!Number.isSafeInteger(bytes)) {
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
