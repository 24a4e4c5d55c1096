import type { ServiceStatus } from '../../../api/types/swarm/service.ts';
import { unreachable } from '../../../daemon/base/errors.ts';
import { TaskState } from '../../objects/task-state.ts';
import { isGlobal, modeOf, type Mode } from '../../planner/service-mode.ts';
import type { Task } from '../../planner/state/entries.ts';
import type { ControlContext } from '../context.ts';
import { stateOf } from '../tasks/state.ts';
import type { KnownService } from './view.ts';

/** How many tasks run, should run, and have done their work. */
export function serviceStatus(
  context: Pick<ControlContext, 'statusOf'>,
  service: KnownService,
): ServiceStatus {
  const { record } = service;
  const mode = modeOf(record.spec);
  let running = 0;
  let wanted = 0;
  let completed = 0;
  for (const task of service.tasks) {
    const state = stateOf(context, task);
    running += state === TaskState.running ? 1 : 0;
    wanted += isWantedBy(mode, task) ? 1 : 0;
    completed +=
      state === TaskState.complete && task.record.iteration === record.job?.iteration && record.job ? 1 : 0;
  }
  return { RunningTasks: running, DesiredTasks: desiredOf(mode, wanted), CompletedTasks: completed };
}

function isWantedBy(mode: Mode, { record }: Task): boolean {
  return (
    isGlobal(mode) && record.desired === (mode.kind === 'global' ? TaskState.running : TaskState.complete)
  );
}

function desiredOf(mode: Mode, wanted: number): number {
  switch (mode.kind) {
    case 'replicated':
      return mode.replicas;
    case 'replicatedJob':
      return mode.concurrent;
    case 'global':
    case 'globalJob':
      return wanted;
    default:
      return unreachable(mode);
  }
}
