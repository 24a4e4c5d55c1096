import { flag } from '../parameters.ts';

/** Whether a person reads the answer. */
export function isPretty(query: URLSearchParams): boolean {
  return flag(query, 'pretty');
}

export function prettied(json: string): string {
  return `${JSON.stringify(JSON.parse(json), undefined, 2)}\n`;
}
