import type { Sandbox } from '../../networks/sandbox/sandbox.ts';

/** What clients see of a sandbox's endpoints. */
export function shownEndpoints({
  endpoints,
  outlet,
}: Pick<Sandbox, 'endpoints' | 'outlet'>): Sandbox['endpoints'] {
  return Object.fromEntries(Object.entries(endpoints).filter(([name]) => name !== outlet));
}
