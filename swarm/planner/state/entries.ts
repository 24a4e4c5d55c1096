import type { NodeDescription } from '../../../api/types/swarm/node.ts';
import type { AttachmentRecord } from '../../objects/attachment.ts';
import type { NetworkAddresses } from '../../objects/network.ts';
import type { NodeRecord, NodeStateRecord } from '../../objects/node.ts';
import type {
  PreviousServiceRecord,
  ServiceRecord,
  ServiceRunRecord,
  TemplateRecord,
} from '../../objects/service.ts';
import type { TaskRecord, TaskStatus } from '../../objects/task.ts';
import { SmallGroups } from './small-groups.ts';

/** What a slot is called: the number of a replica, or the node of a global service's task. */
export type SlotKey = number | string;

/** A task in memory. Its parts are replaced when they change, never edited. */
export interface Task {
  readonly id: string;
  record: TaskRecord;
  status: TaskStatus | undefined;
  /** What of it counts as long as it is on a node and has not ended: by this it is taken back. */
  held?: { template: number; networks: readonly NetworkAddresses[] | undefined } | undefined;
}

/** A service in memory with its tasks. `record` is undefined once it is removed, until its last task has gone. */
export interface Service {
  readonly id: string;
  record: ServiceRecord | undefined;
  previous: PreviousServiceRecord | undefined;
  run: ServiceRunRecord | undefined;
  /** By revision: those that a task or the service itself may name. */
  readonly templates: Map<number, TemplateRecord>;
  /** How many tasks name each revision. */
  readonly templateUses: Map<number, number>;
  /** The same of tasks that are on a node and have not ended. */
  readonly liveUses: Map<number, number>;
  readonly tasks: Set<Task>;
  readonly slots: SmallGroups<SlotKey, Task>;
}

/** A node in memory with the tasks that have been assigned to it, ended ones too. `record` as with services. */
export interface Node {
  readonly id: string;
  record: NodeRecord | undefined;
  state: NodeStateRecord | undefined;
  description: NodeDescription | undefined;
  /** By `attachmentKey`. */
  readonly attachments: Map<string, AttachmentRecord>;
  readonly tasks: Set<Task>;
}

export function newService(id: string): Service {
  return {
    id,
    record: undefined,
    previous: undefined,
    run: undefined,
    templates: new Map(),
    templateUses: new Map(),
    liveUses: new Map(),
    tasks: new Set(),
    slots: new SmallGroups(),
  };
}

export function newNode(id: string): Node {
  return {
    id,
    record: undefined,
    state: undefined,
    description: undefined,
    attachments: new Map(),
    tasks: new Set(),
  };
}

/** A container is in a network once. */
export function attachmentKey({ network, container }: { network: string; container: string }): string {
  return `${network}/${container}`;
}

/** The slot of a task within its service. */
export function slotOf(record: TaskRecord): SlotKey {
  return record.slot ?? record.pinned ?? record.id;
}
