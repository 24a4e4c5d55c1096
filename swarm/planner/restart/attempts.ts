import { TaskState } from '../../objects/task-state.ts';
import type { ServiceRecord } from '../../objects/service.ts';
import { isJob, modeOf } from '../service-mode.ts';
import type { Task } from '../state/entries.ts';
import { observedState } from '../state/observed.ts';
import { byAge } from '../slot-tasks.ts';
import { restartPolicyOf, type RestartPolicy } from './policy.ts';

/** The policy of the service as it is now: a task that ended is followed by one of the current specification. */
export function policyOf(service: ServiceRecord): RestartPolicy {
  return restartPolicyOf(service.spec.TaskTemplate?.RestartPolicy, { isJob: isJob(modeOf(service.spec)) });
}

/**
 * Whether a task that has ended, or has lost its node, is to be followed by another in its slot. `slot` is all tasks of
 * it that are still known: the attempts so far are counted from these, so that every leader counts the same.
 * @param at The moment of the decision; afterwards that of its write, so that the answer stays the same.
 */
export function mayRestart(
  service: ServiceRecord,
  task: Task,
  slot: Iterable<Task>,
  at = task.record.updated,
): boolean {
  const policy = policyOf(service);
  if (policy.condition === 'none') {
    return false;
  }
  if (policy.condition === 'on-failure' && observedState(task) === TaskState.complete) {
    return false;
  }
  const since = policy.windowMs === 0 ? Number.NEGATIVE_INFINITY : at - policy.windowMs;
  return policy.maxAttempts === 0 || attemptsOf(service, task, slot, since) < policy.maxAttempts;
}

/** Restarts in the slot under this revision of the template since a moment. */
function attemptsOf(service: ServiceRecord, task: Task, slot: Iterable<Task>, since: number): number {
  const alike = [...slot]
    .filter(
      ({ record }) => record.template === service.template && record.iteration === task.record.iteration,
    )
    .toSorted(byAge);
  // The first was no restart, unless it has been forgotten: then those kept are more than the limit anyway.
  return alike.slice(1).filter(({ record }) => record.created >= since).length;
}
