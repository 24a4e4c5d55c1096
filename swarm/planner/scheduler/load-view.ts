import type { GenericResource } from '../../../api/types/swarm/task.ts';
import type { TemplateRecord } from '../../objects/service.ts';
import { templateId } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { TaskRecord } from '../../objects/task.ts';
import { demandOf, type Demand } from '../placement/demand.ts';
import { traitsOf } from '../placement/traits.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import type { Node, Task } from '../state/entries.ts';
import { isAlive, takesTasks } from '../state/observed.ts';
import type { NodeFacts, NodeLoad } from './node-load.ts';
import { NodeTable } from './node-table.ts';
import { RecentFailures } from './recent-failures.ts';

/**
 * What tasks hold on which nodes and where services failed: the state as the scheduler needs it. It follows the state's
 * journals; where these do not reach back, it is made anew.
 */
export class LoadView {
  table: NodeTable;
  failures = new RecentFailures();
  readonly #seed: number;
  #nodesSeen = -1;
  #tasksSeen = -1;
  /** Tasks to look at again, whether they change or not: what was planned for them may have been dropped. */
  #planned = new Set<string>();
  readonly #demands = new WeakMap<TemplateRecord, Demand>();

  constructor(seed: number) {
    this.#seed = seed;
    this.table = new NodeTable(seed);
  }

  /** @returns Tasks that are to be shut down and never had a node: no node will report that they have ended. */
  catchUp(state: ClusterState): string[] {
    const nodes = this.#nodesSeen < 0 ? undefined : state.changedNodes.since(this.#nodesSeen);
    const tasks = this.#tasksSeen < 0 ? undefined : state.changedTasks.since(this.#tasksSeen);
    this.#nodesSeen = state.changedNodes.end;
    this.#tasksSeen = state.changedTasks.end;
    const planned = this.#planned;
    this.#planned = new Set();
    const isAnew = nodes === undefined || tasks === undefined;
    if (isAnew) {
      this.table = new NodeTable(this.#seed);
      this.failures = new RecentFailures();
    }
    for (const id of isAnew ? state.nodes.keys() : nodes) {
      this.#seeNode(id, state.nodes.get(id));
    }
    const toSee = isAnew ? state.tasks.keys() : new Set([...tasks, ...planned]);
    const ended = [...toSee].filter((id) => this.#seeTask(state, id, state.tasks.get(id), isAnew));
    for (const id of ended) {
      this.#planned.add(id);
    }
    this.table.settle();
    return ended;
  }

  /** What a task's template asks for; undefined while the template is not known. */
  demandOf(state: ClusterState, record: TaskRecord): Demand | undefined {
    const template = state.templateOf(record);
    if (template === undefined) {
      return undefined;
    }
    const known = this.#demands.get(template);
    const demand =
      known ??
      demandOf(template, {
        driverOf: (network) => state.networks.get(network)?.driver,
        logDriver: state.cluster?.spec.TaskDefaults?.LogDriver,
      });
    this.#demands.set(template, demand);
    return demand;
  }

  /** Holds what a task takes that has just been given a node, before the state says so. */
  hold(record: TaskRecord, node: NodeLoad, demand: Demand, generic: readonly GenericResource[]): void {
    const { id, service } = record;
    this.table.hold({ task: id, node: node.id, service, demand, generic, counts: true });
    this.#planned.add(id);
  }

  #seeNode(id: string, node: Node | undefined): void {
    if (node?.record === undefined) {
      this.table.removeNode(id);
    } else {
      this.table.setNode(factsOf(node));
    }
  }

  /** True for a task that has to be ended without ever having had a node. */
  #seeTask(state: ClusterState, id: string, task: Task | undefined, isAnew: boolean): boolean {
    const node = task?.record.node;
    if (task === undefined || node === undefined) {
      this.table.release(id);
      return task !== undefined && isUnwanted(task);
    }
    if (isAnew || this.table.holdingOf(id) !== undefined) {
      this.#noteFailure(task, node);
    }
    if (isAlive(task)) {
      this.#seeHolding(state, task.record, node);
    } else {
      this.table.release(id);
    }
    return false;
  }

  #seeHolding(state: ClusterState, record: TaskRecord, node: string): void {
    const { id, service, generic = [] } = record;
    const counts = record.desired <= TaskState.complete;
    const held = this.table.holdingOf(id);
    if (held?.node === node && held.counts === counts) {
      return;
    }
    this.table.release(id);
    const demand = this.demandOf(state, record);
    if (demand === undefined) {
      // Its template has not been read yet.
      this.#planned.add(id);
      return;
    }
    this.table.hold({ task: id, node, service, demand, generic, counts });
  }

  #noteFailure({ record, status }: Task, node: string): void {
    if (status?.state === TaskState.failed || status?.state === TaskState.rejected) {
      this.failures.record(templateId(record.service, record.template), node, status.at);
    }
  }
}

function isUnwanted({ record, status }: Task): boolean {
  return status === undefined && record.desired === TaskState.shutdown;
}

function factsOf(node: Node): NodeFacts {
  const resources = node.description?.Resources;
  return {
    traits: traitsOf(node),
    takesTasks: takesTasks(node),
    resources: {
      nanoCpus: resources?.NanoCPUs ?? 0,
      memoryBytes: resources?.MemoryBytes ?? 0,
      generic: resources?.GenericResources ?? [],
    },
  };
}
