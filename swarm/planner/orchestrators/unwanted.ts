import { TaskState } from '../../objects/task-state.ts';
import { remove, type Write } from '../../objects/parts.ts';
import { templateId } from '../../objects/service.ts';
import type { Circumstances } from '../decision.ts';
import { desire } from '../new-task.ts';
import { isOfIteration } from '../slot-tasks.ts';
import type { Service } from '../state/entries.ts';

/** Tasks of a removed service go; its ports are free at once, what its tasks run is kept until they end. */
export function decideRemoved({ now }: Circumstances, service: Service): Write[] {
  const { id, run, previous, tasks, templates } = service;
  return [
    ...(run ? [remove('serviceRun', id)] : []),
    ...(previous ? [remove('previousService', id)] : []),
    ...[...tasks].flatMap((task) => desire(task, TaskState.remove, now)),
    ...(tasks.size === 0
      ? [...templates.keys()].map((revision) => remove('template', templateId(id, revision)))
      : []),
  ];
}

/** Tasks of a job's older iterations go. */
export function decideOldIterations({ now }: Circumstances, service: Service): Write[] {
  const { record } = service;
  if (record?.job === undefined) {
    return [];
  }
  return [...service.tasks]
    .filter((task) => !isOfIteration(task, record))
    .flatMap((task) => desire(task, TaskState.remove, now));
}
