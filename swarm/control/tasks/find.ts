import type { Cluster } from '../../cluster/cluster.ts';
import type { Task } from '../../planner/state/entries.ts';
import { lookUp } from '../base/look-up.ts';
import { taskName } from './name.ts';

/** The task of an id, a name (`web.1.ID`) or the beginning of an id. */
export function findTask(cluster: Cluster, ref: string): Task {
  const { tasks } = cluster.state;
  return lookUp('task', ref, {
    byId: (id) => tasks.get(id),
    byName: (name) => {
      // The name ends with the id.
      const task = tasks.get(name.slice(name.lastIndexOf('.') + 1));
      return task !== undefined && taskName(cluster, task) === name ? [task] : [];
    },
    ids: () => tasks.keys(),
  });
}
