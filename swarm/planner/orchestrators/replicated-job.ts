import type { Write } from '../../objects/parts.ts';
import type { ServiceRecord } from '../../objects/service.ts';
import type { Circumstances, Decision } from '../decision.ts';
import { newTask } from '../new-task.ts';
import { mayRestart } from '../restart/attempts.ts';
import { hasEnded, isOfIteration, isWanted, newestOf } from '../slot-tasks.ts';
import type { Service } from '../state/entries.ts';

/**
 * A replicated job: slots from 0 up, each done once, so many at a time. A slot whose task failed for good stays taken:
 * no other number is begun for it.
 */
export function decideReplicatedJob(
  circumstances: Circumstances,
  service: Service,
  record: ServiceRecord,
  { completions, concurrent }: { completions: number; concurrent: number },
): Decision {
  const used = new Set<number>();
  const dropped: number[] = [];
  let atWork = 0;
  for (const [slot, tasks] of service.slots) {
    const newest = newestOf(tasks, record);
    if (typeof slot !== 'number' || newest === undefined) {
      continue;
    }
    used.add(slot);
    if (tasks.some((task) => isOfIteration(task, record) && isWanted(task))) {
      atWork += hasEnded(newest) ? 0 : 1;
    } else if (mayRestart(record, newest, tasks)) {
      // The last leader stopped it and did not get to its successor.
      dropped.push(slot);
    }
  }
  const begin = dropped.toSorted((a, b) => a - b);
  for (let slot = 0; slot < completions && atWork + begin.length < concurrent; slot += 1) {
    if (!used.has(slot)) {
      begin.push(slot);
    }
  }
  const writes: Write[] = begin.slice(0, Math.max(0, concurrent - atWork)).map((slot) => {
    const follows = newestOf(service.slots.get(slot), record);
    return newTask(circumstances, record, slot, { follows });
  });
  return { writes };
}
