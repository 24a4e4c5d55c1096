import { put, type Write } from '../../objects/parts.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { ClusterState } from '../state/cluster-state.ts';

/**
 * Tasks of a service that has not been given its ports are not placed, and say why; they are let go on once it has.
 */
export function refuseForPorts(state: ClusterState, now: number): Write[] {
  const writes: Write[] = [];
  for (const { record } of state.unassigned) {
    const error = state.services.get(record.service)?.run?.portsError;
    const refused = record.refusal?.state === TaskState.new ? record.refusal.error : undefined;
    if (error === refused) {
      continue;
    }
    const { refusal: _refusal, ...rest } = record;
    const refusal = error === undefined ? {} : { refusal: { state: TaskState.new, error, at: now } };
    writes.push(put('task', { ...rest, ...refusal, updated: now }));
  }
  return writes;
}
