import type { Write } from '../objects/parts.ts';
import { TaskState } from '../objects/task-state.ts';
import { publishesIngress } from './allocator/network-use.ts';
import { hasSpareVip } from './allocator/vips.ts';
import type { Attention } from './attention.ts';
import { modeOf } from './service-mode.ts';
import type { ClusterState } from './state/cluster-state.ts';
import { slotOf, type Service, type Task } from './state/entries.ts';
import { observedState } from './state/observed.ts';

/**
 * Applies a change to the state and marks what has to be looked at because of it: as little as will do, for most
 * changes are reports of single tasks.
 */
export function notice(state: ClusterState, attention: Attention, write: Write): void {
  switch (write.part) {
    case 'task':
      return noticeTask(state, attention, write);
    case 'status':
      return noticeStatus(state, attention, write);
    case 'service':
    case 'template':
    case 'previousService':
    case 'serviceRun':
      state.apply(write);
      return noticeService(state, attention, write.id.split('/')[0] ?? '');
    case 'node':
    case 'nodeState':
    case 'nodeDescription':
      state.apply(write);
      attention.nodes.add(write.id);
      return undefined;
    case 'cluster':
      state.apply(write);
      for (const id of state.services.keys()) {
        noticeService(state, attention, id);
      }
      return undefined;
    case 'network':
      return noticeNetwork(state, attention, write);
    case 'attachment':
      state.apply(write);
      if (write.value !== null) {
        // Its network or its node may have gone meanwhile.
        attention.networks.add(write.value.network);
        attention.nodes.add(write.value.node);
      }
      return undefined;
    case 'nodeAddresses':
      state.apply(write);
      attention.nodes.add(write.id);
      return undefined;
    case 'secret':
    case 'config':
      return state.apply(write);
  }
}

/** Marks a service with all that it has. */
export function noticeService(state: ClusterState, attention: Attention, id: string): void {
  attention.services.add(id);
  attention.updates.add(id);
  for (const slot of state.services.get(id)?.slots.keys() ?? []) {
    attention.slot(id, slot);
  }
}

/** Services that are in it, and those that publish ports where it is the ingress network, which every node is in. */
function noticeNetwork(state: ClusterState, attention: Attention, write: Write & { part: 'network' }): void {
  const wasIngress = state.networks.get(write.id)?.ingress === true;
  state.apply(write);
  attention.networks.add(write.id);
  for (const { id } of state.usersOf(write.id)) {
    attention.services.add(id);
  }
  if (!wasIngress && write.value?.ingress !== true) {
    return;
  }
  for (const { id, record } of state.services.values()) {
    if (publishesIngress(record?.spec.EndpointSpec ?? undefined)) {
      attention.services.add(id);
    }
  }
  for (const id of state.nodes.keys()) {
    attention.nodes.add(id);
  }
}

/** Tasks are the planner's own; when one changes from outside, the store was changed by other means. */
function noticeTask(state: ClusterState, attention: Attention, write: Write & { part: 'task' }): void {
  const record = write.value ?? state.tasks.get(write.id)?.record;
  state.apply(write);
  if (record !== undefined) {
    attention.services.add(record.service);
    attention.updates.add(record.service);
    attention.slot(record.service, slotOf(record));
  }
}

function noticeStatus(state: ClusterState, attention: Attention, write: Write & { part: 'status' }): void {
  const task = state.tasks.get(write.id);
  const before = task && observedState(task);
  state.apply(write);
  if (task === undefined || before === undefined) {
    return;
  }
  const after = observedState(task);
  const service = state.services.get(task.record.service);
  if (service === undefined || after === before || after < TaskState.running) {
    return;
  }
  if (isUpdating(service)) {
    attention.updates.add(service.id);
  }
  if (after > TaskState.running && hasSpareVip(state, service)) {
    attention.services.add(service.id);
  }
  if (after > TaskState.running || hasOthers(service, task)) {
    attention.slot(service.id, slotOf(task.record));
  }
  if (after > TaskState.running && service.record && modeOf(service.record.spec).kind === 'replicatedJob') {
    // The next of its slots may begin.
    attention.services.add(service.id);
  }
}

function isUpdating({ run }: Service): boolean {
  return run?.update?.state === 'updating' || run?.update?.state === 'rollback_started';
}

function hasOthers(service: Service, task: Task): boolean {
  return service.slots.get(slotOf(task.record)).length > 1;
}
