import type { NetworkAddresses } from '../../objects/network.ts';
import { copyWith, put, type Write } from '../../objects/parts.ts';
import { templateId } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { TaskRecord } from '../../objects/task.ts';
import { byAge } from '../slot-tasks.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import type { Task } from '../state/entries.ts';
import type { Addresses } from './addresses.ts';
import { networkUse } from './network-use.ts';
import { missingVips } from './vips.ts';

/** What tasks of one template wait for. */
interface Wait {
  /** Set: none of them may be placed. */
  error?: string;
  /** Networks with room for some only: by their ids, for those that were told that there is none. */
  scarce: string[];
}

export interface Held {
  /** Those of which it is told anew why they wait. */
  writes: Write[];
  /** Tasks that are not to be placed in this pass. */
  waiting: ReadonlySet<string>;
}

/**
 * Tasks whose service has not been given its ports or virtual addresses, or in whose networks no address is free, are
 * not placed and say why. Those that waited for an address are let go on as many as addresses were freed.
 */
export function holdTasks(state: ClusterState, addresses: Addresses, now: number): Held {
  const waits = new Map<string, Wait>();
  const writes: Write[] = [];
  const waiting = new Set<string>();
  const told: Task[] = [];
  const hold = ({ record }: Task, error: string): void => {
    waiting.add(record.id);
    writes.push(...refuse(record, error, now));
  };
  for (const task of state.unassigned) {
    const wait = waitOf(state, addresses, waits, task.record);
    if (wait.error !== undefined) {
      hold(task, wait.error);
    } else if (wait.scarce.length > 0 && isTold(task.record)) {
      told.push(task);
    }
  }
  const left = new Map<string, number>();
  for (const task of told.toSorted(byAge)) {
    const { scarce } = waitOf(state, addresses, waits, task.record);
    const rooms = scarce.map((network) => left.get(network) ?? addresses.room(network));
    const full = scarce[rooms.findIndex((room) => room <= 0)];
    if (full === undefined) {
      scarce.forEach((network, index) => left.set(network, (rooms[index] ?? 0) - 1));
    } else {
      hold(task, addresses.shortage(full));
    }
  }
  return { writes, waiting };
}

/**
 * A task's write with addresses in the task's networks, where it has just been given its node: the same write, so that
 * they cost none of their own. Where none is free the task is told so instead.
 */
export function withAddresses(state: ClusterState, addresses: Addresses, write: Write, now: number): Write[] {
  const record = write.part === 'task' ? write.value : null;
  const template = record?.node === undefined ? undefined : state.templateOf(record);
  if (record === null || template === undefined || record.networks !== undefined) {
    return [write];
  }
  const networks: NetworkAddresses[] = [];
  for (const network of networkUse(state, template).networks) {
    const given = addresses.next(network);
    if (!Array.isArray(given)) {
      networks.forEach((unused) => addresses.unused(unused.network));
      return refuse(state.tasks.get(record.id)?.record ?? record, given.error, now);
    }
    networks.push({ network: network.id, addresses: given });
  }
  return [networks.length > 0 ? put('task', copyWith(record, { networks })) : write];
}

function waitOf(
  state: ClusterState,
  addresses: Addresses,
  waits: Map<string, Wait>,
  record: TaskRecord,
): Wait {
  const id = templateId(record.service, record.template);
  let wait = waits.get(id);
  if (wait === undefined) {
    wait = newWait(state, addresses, record);
    waits.set(id, wait);
  }
  return wait;
}

function newWait(state: ClusterState, addresses: Addresses, record: TaskRecord): Wait {
  const service = state.services.get(record.service);
  const template = state.templateOf(record);
  const use = template ? networkUse(state, template) : { networks: [] };
  const missing = service?.record ? missingVips(state, service, service.record) : [];
  const full = [...missing, ...use.networks.filter(({ id }) => addresses.room(id) <= 0)];
  const [first] = full;
  const error = service?.run?.portsError ?? use.error ?? (first && addresses.shortage(first.id));
  return {
    ...(error === undefined ? {} : { error }),
    scarce: use.networks.map(({ id }) => id).filter((id) => addresses.room(id) < Number.POSITIVE_INFINITY),
  };
}

function isTold({ refusal }: TaskRecord): boolean {
  return refusal?.state === TaskState.new;
}

/** Written once per reason. */
function refuse(record: TaskRecord, error: string, now: number): Write[] {
  return isTold(record) && record.refusal?.error === error
    ? []
    : [put('task', copyWith(record, { updated: now, refusal: { state: TaskState.new, error, at: now } }))];
}
