import { unreachable } from '../../../daemon/base/errors.ts';
import type { Write } from '../../objects/parts.ts';
import type { ServiceRecord } from '../../objects/service.ts';
import type { Circumstances, Decision } from '../decision.ts';
import { isGlobal, modeOf } from '../service-mode.ts';
import { isOfIteration } from '../slot-tasks.ts';
import type { Service, SlotKey, Task } from '../state/entries.ts';
import { decideGlobalOn } from './global.ts';
import { decideReplicatedJob } from './replicated-job.ts';
import { decideReplicated } from './replicated.ts';
import { decideSlot } from './slot.ts';
import { decideOldIterations, decideRemoved } from './unwanted.ts';

/** Which tasks a service has to have. Global ones are decided node by node, as slots. */
export function decideService(circumstances: Circumstances, service: Service): Write[] {
  const { record } = service;
  if (record === undefined) {
    return decideRemoved(circumstances, service);
  }
  const old = decideOldIterations(circumstances, service);
  const mode = modeOf(record.spec);
  switch (mode.kind) {
    case 'replicated':
      return [...old, ...decideReplicated(circumstances, service, record, mode.replicas).writes];
    case 'replicatedJob':
      return [...old, ...decideReplicatedJob(circumstances, service, record, mode).writes];
    case 'global':
    case 'globalJob':
      return old;
    default:
      return unreachable(mode);
  }
}

/** What has to happen in one slot: the number of a replica, or a node. */
export function decideSlotOf(circumstances: Circumstances, service: Service, slot: SlotKey): Decision {
  const { record } = service;
  if (record === undefined) {
    return { writes: [] };
  }
  return isGlobal(modeOf(record.spec)) && typeof slot === 'string'
    ? decideGlobalOn(circumstances, service, record, slot)
    : decideSlot(circumstances, record, ofIteration(service.slots.get(slot), record));
}

/** Tasks of a job's older iteration are not followed by others. */
function ofIteration(tasks: readonly Task[], record: ServiceRecord): readonly Task[] {
  return record.job === undefined ? tasks : tasks.filter((task) => isOfIteration(task, record));
}
