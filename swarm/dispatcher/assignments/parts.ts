import { limits } from '../../../daemon/base/limits.ts';
import type { Assignments } from '../../protocol/session.ts';

/** Assignments as messages of a bounded size, in order: secrets and configs before tasks. Pure. */
export function inParts(told: Assignments): Assignments[] {
  const parts: Assignments[] = [];
  let part: Assignments = empty(told.full);
  let bytes = 0;
  const add = <K extends 'secrets' | 'configs' | 'tasks'>(list: K, item: Assignments[K][number]): void => {
    const size = JSON.stringify(item).length;
    if (bytes > 0 && bytes + size > limits.swarmAssignmentsBytesMax) {
      parts.push({ ...part, more: true });
      part = empty(told.full);
      bytes = 0;
    }
    // The list and its item are of one kind.
    (part[list] as (typeof item)[]).push(item);
    bytes += size;
  };
  told.secrets.forEach((item) => add('secrets', item));
  told.configs.forEach((item) => add('configs', item));
  told.tasks.forEach((item) => add('tasks', item));
  const { removedTasks, removedSecrets, removedConfigs } = told;
  return [...parts, { ...part, removedTasks, removedSecrets, removedConfigs }];
}

function empty(full: boolean): Assignments {
  return {
    full,
    tasks: [],
    removedTasks: [],
    secrets: [],
    removedSecrets: [],
    configs: [],
    removedConfigs: [],
  };
}
