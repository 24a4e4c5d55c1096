import type { Write } from '../../objects/parts.ts';
import type { ServiceRecord } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { Circumstances, Decision } from '../decision.ts';
import { desire, newTask } from '../new-task.ts';
import { mayRestart } from '../restart/attempts.ts';
import { byAge, isWanted, newestOf } from '../slot-tasks.ts';
import type { Service, Task } from '../state/entries.ts';
import { observedState } from '../state/observed.ts';

interface Slot {
  number: number;
  /** The tasks that hold the slot: wanted ones, or the last one where it is to stay dead. */
  holders: Task[];
}

/** Brings the number of slots to that of replicas. What happens inside a slot is decided elsewhere. */
export function decideReplicated(
  circumstances: Circumstances,
  service: Service,
  record: ServiceRecord,
  replicas: number,
): Decision {
  const slots = heldSlots(service, record);
  if (slots.length < replicas) {
    return { writes: addSlots(circumstances, record, slots, replicas - slots.length) };
  }
  const losers = inOrderOfLoss(slots).slice(replicas);
  return { writes: losers.flatMap(({ number }) => removeSlot(circumstances, service, number)) };
}

/**
 * Whether a slot counts as there: a task is wanted in it, or its last one ended and the restart rules leave it so. An
 * update, or a rollback, begins those anew whose last task is not of the wanted kind.
 */
export function holdersOf(tasks: readonly Task[], record: ServiceRecord): Task[] {
  const wanted = tasks.filter(isWanted).toSorted(byAge);
  if (wanted.length > 0) {
    return wanted;
  }
  const newest = newestOf(tasks, record);
  if (newest === undefined || newest.record.desired === TaskState.remove) {
    return [];
  }
  return mayRestart(record, newest, tasks) ? [] : [newest];
}

function heldSlots(service: Service, record: ServiceRecord): Slot[] {
  const slots: Slot[] = [];
  for (const [number, tasks] of service.slots) {
    if (typeof number === 'number') {
      const holders = holdersOf(tasks, record);
      if (holders.length > 0) {
        slots.push({ number, holders });
      }
    }
  }
  return slots;
}

/** Tasks in the lowest numbers that are free. A task that still stops there is waited for. */
function addSlots(
  circumstances: Circumstances,
  record: ServiceRecord,
  slots: readonly Slot[],
  count: number,
): Write[] {
  const taken = new Set(slots.map(({ number }) => number));
  const writes: Write[] = [];
  for (let number = 1; writes.length < count; number += 1) {
    if (!taken.has(number)) {
      const tasks = circumstances.state.tasksInSlot(record.id, number);
      writes.push(newTask(circumstances, record, number, { follows: newestOf(tasks, record) }));
    }
  }
  return writes;
}

/** First those that stay: few on their node, running, of a low number. Slots without a node go first. */
function inOrderOfLoss(slots: readonly Slot[]): Slot[] {
  const counts = new Map<string, number>();
  return slots
    .map((slot) => ({ slot, runs: slot.holders.some((task) => observedState(task) === TaskState.running) }))
    .toSorted((a, b) => Number(b.runs) - Number(a.runs) || a.slot.number - b.slot.number)
    .map(({ slot }) => {
      const node = slot.holders[0]?.record.node;
      if (node === undefined) {
        return { slot, rank: Number.POSITIVE_INFINITY };
      }
      const rank = counts.get(node) ?? 0;
      counts.set(node, rank + 1);
      return { slot, rank };
    })
    .toSorted((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank))
    .map(({ slot }) => slot);
}

/** All tasks of the slot go, with its history. */
function removeSlot({ now }: Circumstances, service: Service, number: number): Write[] {
  return service.slots.get(number).flatMap((task) => desire(task, TaskState.remove, now));
}
