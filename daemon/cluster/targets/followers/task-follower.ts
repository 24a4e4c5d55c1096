import { targetLimits } from '../limits.ts';
import type { Registrations } from '../registrations/registrations.ts';
import type { Tables } from '../store/tables.ts';
import type { LabelledTask } from './task-gate.ts';

/** Tasks of services that have the label of a group: filled by `daemon/boot`. */
export interface LabelledTasks {
  /** All that are to run and have not ended. Undefined = nobody can say. */
  list(): Promise<readonly (LabelledTask & { isRunning: boolean })[] | undefined>;
}

export interface TaskFollowerDeps {
  tables: Tables;
  registrations: Registrations;
  tasks: LabelledTasks;
}

/**
 * Registers tasks of labelled services that run on hosts without this interface, and drains targets whose tasks are
 * gone: their host has died, or the label has.
 */
export class TaskFollower {
  readonly #deps: TaskFollowerDeps;

  constructor(deps: TaskFollowerDeps) {
    this.#deps = deps;
  }

  /** Compares once. */
  async look(): Promise<void> {
    const { tables, registrations, tasks } = this.#deps;
    const all = await tasks.list();
    if (all === undefined) {
      return;
    }
    const wanted = new Map<string, string>();
    for (const task of all) {
      const group = tables.groups.get(tables.names.get(`g/${task.group}`)?.id ?? '');
      if (group?.status !== 'ACTIVE') {
        continue;
      }
      wanted.set(`${group.id} ${task.id}`, task.service);
      const isKnown = tables.targets.below(`${group.id}/${encodeURIComponent(task.id)}:`).length > 0;
      if (task.isRunning && !isKnown) {
        await registrations.add(group.id, [task], task.service);
      }
    }
    for (const target of tables.targets.below()) {
      const { group, id, port, service, drainingMs } = target;
      if (service !== undefined && drainingMs === undefined && !wanted.has(`${group} ${id}`)) {
        await registrations.drain(group, [{ id, port }], targetLimits.taskDrainMs);
      }
    }
  }
}
