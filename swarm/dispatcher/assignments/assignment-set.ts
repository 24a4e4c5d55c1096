import type { Cluster } from '../../cluster/cluster.ts';
import type { TaskState } from '../../objects/task-state.ts';
import type { Task } from '../../planner/state/entries.ts';
import { addTo, deleteFrom } from '../../planner/state/multi-map.ts';
import type { Assignments } from '../../protocol/session.ts';
import { needsData, type AssignedObjects, type DataKind } from './assigned.ts';
import { inParts } from './parts.ts';
import { dataOf } from './references.ts';

interface Deps {
  node: string;
  cluster: Cluster;
  objects: AssignedObjects;
}

/** What a node was told that it has: each message says what is different from that. */
export class AssignmentSet {
  readonly #deps: Deps;
  /** Tasks as they were told, by their wish. */
  readonly #tasks = new Map<string, TaskState>();
  /** By secret or config that the node has: tasks that need it. */
  readonly #needing: Record<DataKind, Map<string, Set<string>>> = { secret: new Map(), config: new Map() };

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Everything. */
  full(): Assignments[] {
    this.#tasks.clear();
    this.#needing.secret.clear();
    this.#needing.config.clear();
    const { cluster, node } = this.#deps;
    return inParts(
      this.#tell(
        [...cluster.state.tasksOn(node)].map(({ id }) => id),
        true,
      ),
    );
  }

  /** What of these tasks the node does not know yet; empty for nothing. */
  changes(tasks: Iterable<string>): Assignments[] {
    const told = this.#tell(tasks, false);
    const isNothing = Object.values(told).every((list) => !Array.isArray(list) || list.length === 0);
    return isNothing ? [] : inParts(told);
  }

  #tell(ids: Iterable<string>, full: boolean): Assignments {
    const told: Assignments = {
      full,
      tasks: [],
      removedTasks: [],
      secrets: [],
      removedSecrets: [],
      configs: [],
      removedConfigs: [],
    };
    const { cluster, node, objects } = this.#deps;
    for (const id of ids) {
      const task = cluster.state.tasks.get(id);
      if (task === undefined || task.record.node !== node) {
        this.#withdraw(id, told);
        continue;
      }
      this.#keepData(task, told);
      if (this.#tasks.get(id) !== task.record.desired) {
        this.#tasks.set(id, task.record.desired);
        told.tasks.push(objects.task(task));
      }
    }
    const { secret, config } = this.#needing;
    return {
      ...told,
      secrets: told.secrets.filter((given) => secret.has(given.id)),
      removedSecrets: told.removedSecrets.filter((id) => !secret.has(id)),
      configs: told.configs.filter((given) => config.has(given.id)),
      removedConfigs: told.removedConfigs.filter((id) => !config.has(id)),
    };
  }

  #withdraw(id: string, told: Assignments): void {
    this.#release(id, told);
    if (this.#tasks.delete(id)) {
      told.removedTasks.push(id);
    }
  }

  #keepData(task: Task, told: Assignments): void {
    if (!needsData(task)) {
      this.#release(task.id, told);
      return;
    }
    const spec = this.#deps.cluster.state.templateOf(task.record)?.task ?? {};
    const { secrets, configs } = dataOf(spec);
    secrets.forEach((id) => this.#give('secret', { id, task: task.id }, told));
    configs.forEach((id) => this.#give('config', { id, task: task.id }, told));
  }

  #give(kind: DataKind, { id, task }: { id: string; task: string }, told: Assignments): void {
    const needing = this.#needing[kind];
    const data = needing.has(id) ? undefined : this.#deps.objects.data(kind, id);
    if (data !== undefined) {
      listsOf(kind, told).given.push(data);
    }
    if (data !== undefined || needing.has(id)) {
      addTo(needing, id, task);
    }
  }

  /** What no other task needs goes. */
  #release(task: string, told: Assignments): void {
    for (const kind of ['secret', 'config'] as const) {
      const needing = this.#needing[kind];
      for (const [id, tasks] of needing) {
        if (tasks.has(task)) {
          deleteFrom(needing, id, task);
        }
        if (!needing.has(id)) {
          listsOf(kind, told).removed.push(id);
        }
      }
    }
  }
}

function listsOf(kind: DataKind, told: Assignments): { given: Assignments['secrets']; removed: string[] } {
  return kind === 'secret'
    ? { given: told.secrets, removed: told.removedSecrets }
    : { given: told.configs, removed: told.removedConfigs };
}
