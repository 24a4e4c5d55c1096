import { put, remove, type Write } from '../../objects/parts.ts';
import type { ServiceRecord, UpdateRecord } from '../../objects/service.ts';
import type { Circumstances, Decision } from '../decision.ts';
import type { Service, Task } from '../state/entries.ts';
import { planOf, watchMs, type UpdatePlan } from './config.ts';
import { dirtySlots, progressOf } from './progress.ts';
import { updateSlot } from './update-slot.ts';

/**
 * The rolling update of a service whose tasks are not all as specified. All it knows stands in the store (the update's
 * record, and tasks with their times), so that any leader goes on where the last one was.
 */
export function decideUpdate(
  circumstances: Circumstances,
  service: Service,
  record: ServiceRecord,
): Decision {
  const update = currentUpdate(circumstances, service, record);
  if (update === undefined) {
    return { writes: forgetOld(service, record) };
  }
  if (update.state !== 'updating' && update.state !== 'rollback_started') {
    return { writes: [] };
  }
  const plan = planOf(record, update);
  const progress = progressOf(circumstances, service, record, { update, plan });
  const failed = plan.onFailure === 'continue' ? [] : progress.newlyFailed;
  const counted = { ...update, failed: [...update.failed, ...failed.map(({ id }) => id)] };
  const last = failed.at(-1);
  if (last !== undefined && counted.failed.length / Math.max(1, update.slots) > plan.maxFailureRatio) {
    return { writes: giveUp(circumstances, service, { record, update: counted, plan, task: last }) };
  }
  const begun = progress.dirty.slice(0, Math.max(0, plan.parallelism - progress.busy));
  const writes = begun.flatMap((slot) => updateSlot(circumstances, { service, record, plan }, slot));
  const isNew = service.run?.update !== update || failed.length > 0;
  const saved = isNew ? [saveUpdate(service, counted)] : [];
  if (begun.length > 0 || progress.dirty.length > 0 || (progress.busy > 0 && progress.freeAt === undefined)) {
    return { writes: [...writes, ...saved], again: progress.freeAt };
  }
  return finish(circumstances, service, { update: counted, saved, end: progress.lastDoneAt + watchMs(plan) });
}

/** The update that there is or has to be; undefined where none is needed. */
function currentUpdate(
  { state, now }: Circumstances,
  service: Service,
  record: ServiceRecord,
): UpdateRecord | undefined {
  const update = service.run?.update;
  const isOver = update?.state === 'completed' || update?.state === 'rollback_completed';
  if (update !== undefined && update.template === record.template && !isOver) {
    return update;
  }
  const { length: slots } = dirtySlots(state, service, record);
  if (slots === 0) {
    return undefined;
  }
  return {
    state: record.rollback === undefined ? 'updating' : 'rollback_started',
    message: record.rollback?.message ?? 'update in progress',
    started: now,
    template: record.template,
    slots,
    failed: [],
  };
}

/** What is told of the last update is told until the specification changes. */
function forgetOld(service: Service, record: ServiceRecord): Write[] {
  const { run } = service;
  if (run?.update === undefined || run.update.template === record.template) {
    return [];
  }
  const { update: _update, ...rest } = run;
  return [put('serviceRun', rest)];
}

function giveUp(
  { now }: Circumstances,
  service: Service,
  {
    record,
    update,
    plan,
    task,
  }: { record: ServiceRecord; update: UpdateRecord; plan: UpdatePlan; task: Task },
): Write[] {
  const because = `due to failure or early termination of task ${task.id}`;
  const { previous } = service;
  if (plan.onFailure === 'rollback' && previous !== undefined) {
    const message = `update rolled back ${because}`;
    // The next decision finds the slots that are not as the old specification says, and begins from there.
    return [
      put('service', {
        ...record,
        spec: previous.spec,
        template: previous.template,
        updated: now,
        rollback: { message },
      }),
      remove('previousService', service.id),
      saveUpdate(service, {
        ...update,
        state: 'rollback_started',
        message,
        started: now,
        template: previous.template,
        failed: [],
      }),
    ];
  }
  const isRollback = update.state === 'rollback_started';
  return [
    saveUpdate(service, {
      ...update,
      state: isRollback ? 'rollback_paused' : 'paused',
      message: `${isRollback ? 'rollback' : 'update'} paused ${because}`,
    }),
  ];
}

function finish(
  { now }: Circumstances,
  service: Service,
  { update, saved, end }: { update: UpdateRecord; saved: Write[]; end: number },
): Decision {
  if (now < end) {
    return { writes: saved, again: end };
  }
  const isRollback = update.state === 'rollback_started';
  return {
    writes: [
      saveUpdate(service, {
        ...update,
        state: isRollback ? 'rollback_completed' : 'completed',
        message: isRollback ? 'rollback completed' : 'update completed',
        completed: now,
      }),
    ],
  };
}

function saveUpdate({ id, run }: Service, update: UpdateRecord): Write {
  return put('serviceRun', { ...run, id, update });
}
