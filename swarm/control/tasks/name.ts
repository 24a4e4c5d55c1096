import type { Cluster } from '../../cluster/cluster.ts';
import type { Task } from '../../planner/state/entries.ts';

/** `web.1.ID`, or with the node's id in place of the slot: as the task's container is called. */
export function taskName({ state }: Pick<Cluster, 'state'>, { id, record }: Task): string {
  const service = state.services.get(record.service)?.record?.spec.Name ?? record.service;
  return `${service}.${record.slot ?? record.pinned ?? record.node ?? ''}.${id}`;
}
