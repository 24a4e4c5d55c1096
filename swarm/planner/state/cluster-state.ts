import type { AttachmentRecord } from '../../objects/attachment.ts';
import type { ClusterRecord } from '../../objects/cluster.ts';
import type { ConfigRecord } from '../../objects/config.ts';
import type { NetworkRecord } from '../../objects/network.ts';
import type { NodeAddressesRecord } from '../../objects/node.ts';
import type { Write } from '../../objects/parts.ts';
import type { SecretRecord } from '../../objects/secret.ts';
import type { ServiceRecord, ServiceRunRecord, TemplateRecord } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { TaskRecord, TaskStatus } from '../../objects/task.ts';
import { AddressBook } from './address-book.ts';
import {
  attachmentKey,
  newNode,
  newService,
  slotOf,
  type Node,
  type Service,
  type SlotKey,
  type Task,
} from './entries.ts';
import { addTo, deleteFrom } from './multi-map.ts';
import { Journal } from './journal.ts';
import { isAlive } from './observed.ts';
import { portClaimsOf } from './port-claim.ts';
import { referencesOf } from './references.ts';

const NO_TASKS: ReadonlySet<Task> = new Set();

/**
 * The cluster in memory: all parts that the store keeps, put together to objects, with the indices that decisions need.
 * Filled and changed only by `apply`, in any order of parts; what it costs does not depend on the cluster's size.
 * Decisions read it and return writes; applying these at once, before the store has them, lets the next decision of the
 * same pass see them. Where the store refuses, the true values are applied in turn.
 */
export class ClusterState {
  readonly nodes = new Map<string, Node>();
  readonly services = new Map<string, Service>();
  readonly tasks = new Map<string, Task>();
  readonly networks = new Map<string, NetworkRecord>();
  readonly attachments = new Map<string, AttachmentRecord>();
  /** By node. */
  readonly nodeAddresses = new Map<string, NodeAddressesRecord>();
  /** Addresses that somebody has. */
  readonly addresses = new AddressBook();
  readonly secrets = new Map<string, SecretRecord>();
  readonly configs = new Map<string, ConfigRecord>();
  /** Tasks that want a node: none chosen yet, and not to be shut down. Global ones say which by `pinned`. */
  readonly unassigned = new Set<Task>();
  cluster: ClusterRecord | undefined;
  /** Ids of nodes whose record, state or description changed. */
  readonly changedNodes = new Journal();
  /** Ids of tasks whose record or status changed. */
  readonly changedTasks = new Journal();
  /** Statuses whose task is not known (yet, or any more). */
  readonly looseStatuses = new Map<string, TaskStatus>();
  /** Services by what they refer to: ids of secrets, configs and networks. */
  readonly #users = new Map<string, Set<Service>>();
  readonly #portUsers = new Map<string, Set<Service>>();
  /** One, unless the store was tampered with. */
  readonly #ingress = new Set<string>();
  #portsFreed = 0;

  /** A number that grows with each address and each port of the routing mesh that somebody has no more. */
  get freed(): number {
    return this.addresses.freedInAll + this.#portsFreed;
  }

  /** Takes one part as it is now. A part of an unknown object makes the object. */
  apply(write: Write): void {
    switch (write.part) {
      case 'task':
        return this.#applyTask(write.id, write.value);
      case 'status':
        return this.#applyStatus(write.id, write.value);
      case 'service':
        return this.#applyService(write.id, write.value);
      case 'template':
        return this.#applyTemplate(write.id, write.value);
      case 'previousService':
        return this.#changeService(write.id, (service) => (service.previous = write.value ?? undefined));
      case 'serviceRun':
        return this.#applyRun(write.id, write.value);
      case 'node':
        return this.#changeNodePart(write.id, (node) => (node.record = write.value ?? undefined));
      case 'nodeState':
        return this.#changeNodePart(write.id, (node) => (node.state = write.value ?? undefined));
      case 'nodeDescription':
        return this.#changeNodePart(write.id, (node) => (node.description = write.value?.description));
      case 'nodeAddresses':
        this.addresses.change(this.nodeAddresses.get(write.id)?.networks, write.value?.networks);
        return setOrDelete(this.nodeAddresses, write.id, write.value);
      case 'attachment':
        return this.#applyAttachment(write.id, write.value);
      case 'cluster':
        this.cluster = write.value ?? undefined;
        return undefined;
      case 'network':
        return this.#applyNetwork(write.id, write.value);
      case 'secret':
        return setOrDelete(this.secrets, write.id, write.value);
      case 'config':
        return setOrDelete(this.configs, write.id, write.value);
    }
  }

  /** Tasks of a service, ended ones too; none for a service that is not known. */
  tasksOf(service: string): ReadonlySet<Task> {
    return this.services.get(service)?.tasks ?? NO_TASKS;
  }

  /** Tasks of one slot, ended ones too. */
  tasksInSlot(service: string, slot: SlotKey): readonly Task[] {
    return this.services.get(service)?.slots.get(slot) ?? [];
  }

  /** Tasks assigned to a node, ended ones too. */
  tasksOn(node: string): ReadonlySet<Task> {
    return this.nodes.get(node)?.tasks ?? NO_TASKS;
  }

  /** Services whose current specification names this secret, config or network. */
  usersOf(id: string): Iterable<Service> {
    return this.#users.get(id) ?? [];
  }

  /** Services that have been given a port of the routing mesh: one, unless the store was tampered with. */
  portUsers(claim: string): Iterable<Service> {
    return this.#portUsers.get(claim) ?? [];
  }

  /** The network of published ports; undefined where there is none. */
  get ingress(): NetworkRecord | undefined {
    const [first] = this.#ingress;
    return first === undefined ? undefined : this.networks.get(first);
  }

  /** What a task runs; undefined where the template is not known, as while the cluster is being read. */
  templateOf(task: TaskRecord): TemplateRecord | undefined {
    return this.services.get(task.service)?.templates.get(task.template);
  }

  #applyTask(id: string, record: TaskRecord | null): void {
    this.changedTasks.note(id);
    const before = this.tasks.get(id);
    if (before !== undefined && record !== null && standsAlike(before.record, record)) {
      before.record = record;
      this.#hold(before, isAlive(before));
      return;
    }
    if (before !== undefined) {
      this.#unindex(before);
    }
    if (record === null) {
      this.tasks.delete(id);
      if (before !== undefined) {
        this.#hold(before, false);
      }
      if (before?.status !== undefined) {
        this.looseStatuses.set(id, before.status);
      }
      return;
    }
    const task = before ?? { id, record, status: this.looseStatuses.get(id) };
    this.looseStatuses.delete(id);
    task.record = record;
    this.tasks.set(id, task);
    this.#index(task);
    this.#hold(task, isAlive(task));
  }

  #applyStatus(id: string, status: TaskStatus | null): void {
    const task = this.tasks.get(id);
    if (task === undefined) {
      setOrDelete(this.looseStatuses, id, status);
      return;
    }
    task.status = status ?? undefined;
    this.changedTasks.note(id);
    this.#hold(task, isAlive(task));
  }

  /** Counts what a task has for as long as it is on a node and has not ended. */
  #hold(task: Task, isHolding: boolean): void {
    const { service, template, networks, node } = task.record;
    const before = task.held;
    const held = isHolding && node !== undefined ? { template, networks } : undefined;
    task.held = held;
    this.addresses.change(before?.networks, held?.networks);
    if (before?.template !== held?.template) {
      this.#changeService(service, ({ liveUses }) => {
        if (before !== undefined) {
          countUse(liveUses, before.template, -1);
        }
        if (held !== undefined) {
          countUse(liveUses, held.template, 1);
        }
      });
    }
  }

  #applyNetwork(id: string, record: NetworkRecord | null): void {
    setOrDelete(this.networks, id, record);
    if (record?.ingress === true) {
      this.#ingress.add(id);
    } else {
      this.#ingress.delete(id);
    }
    if (record === null) {
      this.addresses.forget(id);
    }
  }

  #applyAttachment(id: string, record: AttachmentRecord | null): void {
    const before = this.attachments.get(id);
    this.addresses.change(before && [before], record === null ? undefined : [record]);
    setOrDelete(this.attachments, id, record);
    if (before !== undefined) {
      this.#changeNode(before.node, ({ attachments }) => attachments.delete(attachmentKey(before)));
    }
    if (record !== null) {
      this.#changeNode(record.node, ({ attachments }) => attachments.set(attachmentKey(record), record));
    }
  }

  #applyService(id: string, record: ServiceRecord | null): void {
    this.#changeService(id, (service) => {
      for (const reference of referencesOf(service.record?.spec)) {
        deleteFrom(this.#users, reference, service);
      }
      service.record = record ?? undefined;
      for (const reference of referencesOf(record?.spec)) {
        addTo(this.#users, reference, service);
      }
    });
  }

  #applyRun(id: string, run: ServiceRunRecord | null): void {
    this.#changeService(id, (service) => {
      for (const claim of portClaimsOf(service.run?.ports)) {
        deleteFrom(this.#portUsers, claim, service);
      }
      this.addresses.change(service.run?.vips, run?.vips);
      const claims = portClaimsOf(run?.ports);
      this.#portsFreed += portClaimsOf(service.run?.ports).filter((claim) => !claims.includes(claim)).length;
      service.run = run ?? undefined;
      for (const claim of claims) {
        addTo(this.#portUsers, claim, service);
      }
    });
  }

  #applyTemplate(id: string, template: TemplateRecord | null): void {
    const [service = '', revision] = id.split('/');
    this.#changeService(service, ({ templates }) => {
      setOrDelete(templates, Number(revision), template);
    });
  }

  #index(task: Task): void {
    const { service, node, desired, template } = task.record;
    this.#changeService(service, (entry) => {
      entry.tasks.add(task);
      entry.slots.add(slotOf(task.record), task);
      countUse(entry.templateUses, template, 1);
    });
    if (node !== undefined) {
      this.#changeNode(node, ({ tasks }) => tasks.add(task));
    } else if (wantsNode(desired)) {
      this.unassigned.add(task);
    }
  }

  #unindex(task: Task): void {
    const { service, node, template } = task.record;
    this.unassigned.delete(task);
    this.#changeService(service, (entry) => {
      entry.tasks.delete(task);
      entry.slots.delete(slotOf(task.record), task);
      countUse(entry.templateUses, template, -1);
    });
    if (node !== undefined) {
      this.#changeNode(node, ({ tasks }) => tasks.delete(task));
    }
  }

  #changeService(id: string, change: (service: Service) => void): void {
    const service = this.services.get(id) ?? newService(id);
    change(service);
    if (isEmptyService(service)) {
      this.services.delete(id);
    } else {
      this.services.set(id, service);
    }
  }

  #changeNode(id: string, change: (node: Node) => void): void {
    const node = this.nodes.get(id) ?? newNode(id);
    change(node);
    if (isEmptyNode(node)) {
      this.nodes.delete(id);
    } else {
      this.nodes.set(id, node);
    }
  }

  #changeNodePart(id: string, change: (node: Node) => void): void {
    this.changedNodes.note(id);
    this.#changeNode(id, change);
  }
}

function wantsNode(desired: TaskState): boolean {
  return desired <= TaskState.complete;
}

/** Whether a task stays where it is in every index. */
function standsAlike(before: TaskRecord, after: TaskRecord): boolean {
  return (
    before.service === after.service &&
    before.node === after.node &&
    before.template === after.template &&
    slotOf(before) === slotOf(after) &&
    wantsNode(before.desired) === wantsNode(after.desired)
  );
}

function isEmptyService(service: Service): boolean {
  return (
    service.record === undefined &&
    service.previous === undefined &&
    service.run === undefined &&
    service.templates.size === 0 &&
    service.liveUses.size === 0 &&
    service.tasks.size === 0
  );
}

function isEmptyNode(node: Node): boolean {
  return (
    node.record === undefined &&
    node.state === undefined &&
    node.description === undefined &&
    node.attachments.size === 0 &&
    node.tasks.size === 0
  );
}

function countUse(uses: Map<number, number>, template: number, by: 1 | -1): void {
  const count = (uses.get(template) ?? 0) + by;
  if (count === 0) {
    uses.delete(template);
  } else {
    uses.set(template, count);
  }
}

function setOrDelete<K, V>(map: Map<K, V>, key: K, value: V | null): void {
  if (value === null) {
    map.delete(key);
  } else {
    map.set(key, value);
  }
}
