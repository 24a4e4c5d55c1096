import type { StringMap } from '../../../api/types/maps.ts';
import type { Filters } from '../../../api/types/requests.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';

/** Throws invalid_argument for the first key that is none of these. Pure. */
export function checkFilters(filters: Filters, known: readonly string[]): void {
  const wrong = [...filters.keys()].find((key) => !known.includes(key));
  if (wrong !== undefined) {
    throw invalidArgument(`invalid filter '${wrong}'`);
  }
}

/** Whether one of a key's values fits; a key that is not asked for fits always. Pure. */
export function fits(filters: Filters, key: string, test: (value: string) => boolean): boolean {
  return filters.get(key)?.some(test) ?? true;
}

export function fitsPrefix(filters: Filters, key: string, text: string): boolean {
  return fits(filters, key, (value) => text.startsWith(value));
}

/** All values have to hold: `k`, or `k=v`. An empty value asks for the key alone. Pure. */
export function fitsLabels(filters: Filters, key: string, labels: StringMap | null | undefined): boolean {
  return (filters.get(key) ?? []).every((wanted) => {
    const [name = '', ...rest] = wanted.split('=');
    const value = rest.join('=');
    const has = labels !== null && labels !== undefined && Object.hasOwn(labels, name);
    return has && (value === '' || labels[name] === value);
  });
}
