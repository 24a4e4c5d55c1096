import { groupsOf } from '../services/service.ts';
import type { Tables } from '../store/tables.ts';

/** Ids of the services whose listeners forward to a group; by the rule of seed 002 one at most. */
export function servicesUsing({ listeners }: Tables, group: string): string[] {
  const using = listeners
    .below()
    .filter(({ defaultAction }) =>
      groupsOf(defaultAction).some(({ targetGroupIdentifier }) => targetGroupIdentifier === group),
    );
  return [...new Set(using.map(({ service }) => service))];
}
