import type { Write } from '../../objects/parts.ts';
import type { ServiceRecord } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { Circumstances } from '../decision.ts';
import { desire, newTask } from '../new-task.ts';
import { byAge, isAtWork, isWanted } from '../slot-tasks.ts';
import type { Service, SlotKey, Task } from '../state/entries.ts';
import { isGone, observedState } from '../state/observed.ts';
import type { UpdatePlan } from './config.ts';

/**
 * A new task in a slot. Stop-first: the old one is stopped while the new one is prepared, and the new one runs when the
 * old one has stopped. Start-first: both run until the new one does; the slot's rules shut the old one down then.
 */
export function updateSlot(
  circumstances: Circumstances,
  { service, record, plan }: { service: Service; record: ServiceRecord; plan: UpdatePlan },
  slot: SlotKey,
): Write[] {
  const { state, now } = circumstances;
  const tasks = service.slots.get(slot).toSorted(byAge);
  const follows = tasks.at(-1);
  const atWork = tasks.filter((task) => isAtWork(task) && !isGone(state.nodes.get(task.record.node ?? '')));
  // The one that is furthest: another one may still be prepared, and has never run.
  const after = atWork.toSorted((a, b) => observedState(b) - observedState(a))[0];
  const runs = atWork.some((task) => isWanted(task));
  if (after === undefined || (plan.startsFirst && runs)) {
    return [
      ...(after === undefined ? stopAll(tasks, now) : []),
      newTask(circumstances, record, slot, { byUpdate: true, follows }),
    ];
  }
  const gate = { notBefore: now, after: after.id };
  return [
    ...stopAll(tasks, now),
    newTask(circumstances, record, slot, { desired: TaskState.ready, gate, byUpdate: true, follows }),
  ];
}

function stopAll(tasks: readonly Task[], now: number): Write[] {
  return tasks.flatMap((task) => desire(task, TaskState.shutdown, now));
}
