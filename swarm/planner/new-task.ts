import { newSwarmId } from '../objects/ids.ts';
import { copyWith, put, type Write } from '../objects/parts.ts';
import type { ServiceRecord } from '../objects/service.ts';
import type { TaskState } from '../objects/task-state.ts';
import type { TaskGate, TaskRecord } from '../objects/task.ts';
import type { Circumstances } from './decision.ts';
import { goalOf, modeOf } from './service-mode.ts';
import type { SlotKey, Task } from './state/entries.ts';

interface Making {
  /** Absent: what the service's mode is for. */
  desired?: TaskState;
  gate?: TaskGate;
  byUpdate?: boolean;
  /** The task that it takes the place of: it is made younger, whatever the clock says. */
  follows?: Task | undefined;
}

/** The write that makes a task of the service as it is now, in a slot (a number) or for a node (an id). */
export function newTask(
  { now, random }: Circumstances,
  service: ServiceRecord,
  slot: SlotKey,
  { desired, gate, byUpdate, follows }: Making = {},
): Write {
  const created = Math.max(now, (follows?.record.created ?? 0) + 1);
  const record: TaskRecord = {
    id: newSwarmId(random),
    service: service.id,
    ...(typeof slot === 'number' ? { slot } : { pinned: slot }),
    template: service.template,
    desired: desired ?? goalOf(modeOf(service.spec)),
    created,
    updated: created,
    ...(service.job ? { iteration: service.job.iteration } : {}),
    ...(gate ? { gate } : {}),
    ...(byUpdate === true ? { byUpdate } : {}),
  };
  return put('task', record);
}

/** The write that wants a task in a later state; none where it is wanted so already: wishes never go back. */
export function desire(task: Task, desired: TaskState, now: number): Write[] {
  if (task.record.desired >= desired) {
    return [];
  }
  const { gate: _gate, ...record } = task.record;
  return [put('task', copyWith(record, { desired, updated: now }))];
}
