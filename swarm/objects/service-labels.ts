import type { ServiceSpec } from '../../api/types/swarm/service.ts';

/**
 * A label of a service that this engine acts on: `true` = a node that has tasks of it sends calls to its published
 * ports to these alone, which see the client's own address; `false` = as without it, every node calls all tasks.
 */
export const PREFER_LOCAL = 'berth.ingress.prefer-local';

/** The label's value where it is neither `true` nor `false`. */
export function wrongPreference({ Labels }: Pick<ServiceSpec, 'Labels'>): string | undefined {
  const value = Labels?.[PREFER_LOCAL];
  return value === 'true' || value === 'false' ? undefined : value;
}

export function prefersLocal({ Labels }: Pick<ServiceSpec, 'Labels'>): boolean {
  return Labels?.[PREFER_LOCAL] === 'true';
}
