import type { ClusterRecord } from './cluster.ts';
import type { ConfigRecord } from './config.ts';
import type { AttachmentRecord } from './attachment.ts';
import type { NetworkRecord } from './network.ts';
import type { NodeAddressesRecord, NodeDescriptionRecord, NodeRecord, NodeStateRecord } from './node.ts';
import type { SecretRecord } from './secret.ts';
import type { PreviousServiceRecord, ServiceRecord, ServiceRunRecord, TemplateRecord } from './service.ts';
import type { TaskRecord, TaskStatus } from './task.ts';

/**
 * The parts that the store keeps of the cluster's objects, one key each. Every part has one writer, so that nobody
 * rewrites what belongs to another; an object of the API is put together from several.
 */
export interface Parts {
  cluster: ClusterRecord;
  node: NodeRecord;
  nodeState: NodeStateRecord;
  nodeDescription: NodeDescriptionRecord;
  service: ServiceRecord;
  previousService: PreviousServiceRecord;
  serviceRun: ServiceRunRecord;
  template: TemplateRecord;
  task: TaskRecord;
  status: TaskStatus;
  network: NetworkRecord;
  attachment: AttachmentRecord;
  nodeAddresses: NodeAddressesRecord;
  secret: SecretRecord;
  config: ConfigRecord;
}

export type PartName = keyof Parts;

/** A part put, or deleted where `value` is null. */
export type Write = { [P in PartName]: { part: P; id: string; value: Parts[P] | null } }[PartName];

/**
 * A copy with other values. To spread a part and then add a field gives each copy a hidden class of its own in V8,
 * which takes more memory than the copy: parts that there are ten thousands of, tasks and statuses, are copied here.
 */
export function copyWith<T extends object, C extends object>(part: T, changes: C): T & C {
  return Object.assign({}, part, changes);
}

/** The write that puts a part. */
export function put<P extends PartName>(part: P, value: Parts[P]): Write {
  // TypeScript does not connect the name with the value inside a union that is made of both.
  return { part, id: value.id, value } as Write;
}

/** The write that deletes a part. */
export function remove(part: PartName, id: string): Write {
  return { part, id, value: null };
}
