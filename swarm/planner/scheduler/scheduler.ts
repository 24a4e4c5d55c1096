import { copyWith, put, type Write } from '../../objects/parts.ts';
import { templateId } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { TaskRecord } from '../../objects/task.ts';
import type { Demand } from '../placement/demand.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import type { Task } from '../state/entries.ts';
import { explain, fits } from './filters.ts';
import { seededHash } from './hash.ts';
import { LoadView } from './load-view.ts';
import type { NodeLoad } from './node-load.ts';
import { placeGroup } from './place-group.ts';

/** Tasks of one service and one revision of its template: for the choice of nodes they are alike. */
interface Group {
  id: string;
  service: string;
  tasks: Task[];
  demand: Demand;
}

/** A group of which not all found a node, with `NodeTable.roomMade` of then. */
interface Refused {
  room: number;
  error: string;
}

/**
 * Chooses nodes for tasks that have none. Decides from the state alone; what it keeps between passes is derived from
 * the state and caught up with by the state's journals, so that a pass costs what has changed and what it places.
 */
export class Scheduler {
  readonly #seed: number;
  readonly #view: LoadView;
  /** By group. Until there is more room these are not tried again. */
  #refused = new Map<string, Refused>();

  /** @param seed Breaks ties between nodes: the same seed places the same tasks on the same nodes. */
  constructor(seed: number) {
    this.#seed = seed;
    this.#view = new LoadView(seed);
  }

  /**
   * Writes that give nodes to waiting tasks, tell why others still wait, and end those that are not wanted any more
   * before they had a node. The caller applies the writes to the state, or drops all of them.
   *
   * @param now Milliseconds since 1970 UTC.
   * @param held Tasks that something else is missing for: they are left as they are.
   */
  plan(state: ClusterState, now: number, held: ReadonlySet<string> = NONE): Write[] {
    const ended = this.#view.catchUp(state);
    const writes = ended.map((id) =>
      put('status', { id, state: TaskState.shutdown, at: now, message: 'shutdown' }),
    );
    const waiting = inTurn([...state.unassigned].filter(({ id }) => !held.has(id)));
    // Pinned ones first, as there is no other node for them.
    for (const task of waiting.filter(({ record }) => record.pinned !== undefined)) {
      writes.push(...this.#placePinned(state, task, now));
    }
    const free = waiting.filter(({ record }) => record.pinned === undefined);
    const before = this.#refused;
    this.#refused = new Map();
    for (const group of this.#groupsOf(state, free)) {
      writes.push(...this.#placeOrRefuse(group, before.get(group.id), now));
    }
    return writes;
  }

  /** @param before The refusal of this group in the last pass. */
  #placeOrRefuse(group: Group, before: Refused | undefined, now: number): Write[] {
    if (before === undefined || before.room !== this.#view.table.roomMade) {
      return this.#placeGroup(group, now);
    }
    this.#refused.set(group.id, before);
    return group.tasks.flatMap((task) => refusal(task.record, before.error, now));
  }

  #groupsOf(state: ClusterState, waiting: readonly Task[]): Group[] {
    const byId = new Map<string, Group>();
    for (const task of waiting) {
      const { service, template } = task.record;
      const id = templateId(service, template);
      const group = byId.get(id);
      if (group !== undefined) {
        group.tasks.push(task);
        continue;
      }
      const demand = this.#view.demandOf(state, task.record);
      if (demand !== undefined) {
        byId.set(id, { id, service, tasks: [task], demand });
      }
    }
    return [...byId.values()];
  }

  #placeGroup({ id, service, tasks, demand }: Group, now: number): Write[] {
    const { table, failures } = this.#view;
    const asking = table.asking(service, demand);
    const start = seededHash(this.#seed, service);
    const choosing = { service, start, asking, penalties: failures.penalties(id, now) };
    const writes: Write[] = [];
    const placed = placeGroup(table, choosing, {
      tasks: tasks.length,
      spread: demand.spread,
      place: (index, node) => {
        const task = tasks[index];
        if (task !== undefined) {
          writes.push(this.#assign(task.record, node, demand, now));
        }
      },
    });
    if (placed < tasks.length) {
      const reason = explain(table.nodes, asking);
      const error = reason === '' ? 'no suitable node' : `no suitable node (${reason})`;
      this.#refused.set(id, { room: table.roomMade, error });
      writes.push(...tasks.slice(placed).flatMap((task) => refusal(task.record, error, now)));
    }
    return writes;
  }

  /** A global service's task: there is one node for it, which has to fit all the same. */
  #placePinned(state: ClusterState, { record }: Task, now: number): Write[] {
    const demand = this.#view.demandOf(state, record);
    if (demand === undefined) {
      return [];
    }
    const { table } = this.#view;
    const node = table.node(record.pinned ?? '');
    const asking = table.asking(record.service, demand);
    if (node !== undefined && fits(node, asking)) {
      return [this.#assign(record, node, demand, now)];
    }
    // A node that is not known is one that is not there.
    return refusal(record, node === undefined ? NOT_AVAILABLE : explain([node], asking), now);
  }

  #assign(record: TaskRecord, node: NodeLoad, demand: Demand, now: number): Write {
    const generic = node.chooseGeneric(demand) ?? [];
    this.#view.hold(record, node, demand, generic);
    const { refusal: _refusal, generic: _generic, ...rest } = record;
    return put(
      'task',
      copyWith(rest, { node: node.id, updated: now, ...(generic.length > 0 ? { generic } : {}) }),
    );
  }
}

const NONE: ReadonlySet<string> = new Set();
const NOT_AVAILABLE = '1 node not available for new tasks';

/** Why a task has no node, written once per reason. */
function refusal(record: TaskRecord, error: string, at: number): Write[] {
  return record.refusal?.error === error
    ? []
    : [put('task', copyWith(record, { updated: at, refusal: { state: TaskState.pending, error, at } }))];
}

/** The oldest first, so that late services do not starve early ones; then by slot. */
function inTurn(tasks: readonly Task[]): Task[] {
  return tasks.toSorted(
    ({ record: a }, { record: b }) =>
      a.created - b.created || (a.slot ?? 0) - (b.slot ?? 0) || (a.id < b.id ? -1 : Number(a.id > b.id)),
  );
}
