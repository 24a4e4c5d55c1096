import { invalidArgument } from './errors.ts';

/**
 * Values of `filters` that several objects share, read as dockerd reads them (moby daemon/internal/filters).
 */

/** What a filter that is true or false asks for: `1`, `true`, `0`, `false`. Throws invalid_argument. Pure. */
export function filterBool(key: string, values: readonly string[]): boolean {
  const isTrue = values.includes('1') || values.includes('true');
  const isFalse = values.includes('0') || values.includes('false');
  if (isTrue === isFalse) {
    throw invalidArgument(`invalid filter '${key}=[${values.join(' ')}]'`);
  }
  return isTrue;
}

/** Whether the labels have `key`, or exactly `key=value`. Pure. */
export function hasLabel(labels: Readonly<Record<string, string>>, wanted: string): boolean {
  const equals = wanted.indexOf('=');
  const key = equals === -1 ? wanted : wanted.slice(0, equals);
  return Object.hasOwn(labels, key) && (equals === -1 || labels[key] === wanted.slice(equals + 1));
}
