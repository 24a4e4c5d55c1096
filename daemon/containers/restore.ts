import { setTimeout as sleep } from 'node:timers/promises';
import { unreachable } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { limits } from '../base/limits.ts';
import { donorsSettled } from './donors.ts';
import { newContainer } from './container.ts';
import type { Container } from './container.ts';
import type { ContainerContext } from './context.ts';
import { containerExited, removeIfAutomatic, settleExit } from './exit.ts';
import { loggedRun } from './logged-run.ts';
import { rewriteLinkedHosts } from './links.ts';
import { containerOom } from './oom.ts';
import { decideRecovery } from './recovery.ts';
import type { Recovery } from './recovery.ts';
import { releaseContainer } from './release.ts';
import { finishRemoval, removeLocked } from './remove.ts';
import { takeOver } from './control/take-over.ts';
import { startsWithDaemon } from './restart-policy.ts';
import { scheduleRestart } from './restart-attempt.ts';
import type { ContainerSpec } from './spec/container-spec.ts';
import { startLocked } from './start.ts';
import { isLive, liveRun } from './state-facts.ts';
import { decodeState } from './state-codec.ts';
import { goOnStopping } from './stop.ts';
import { sweep } from './sweep.ts';
import { ensureVolumes } from './volumes.ts';

const EXIT_RECORD_POLL_MS = 20;

/**
 * Brings rows and world together after a start of the daemon, whenever and however the last one ended: takes over what
 * runs, settles what ended, finishes what was begun, sweeps what belongs to nobody. Returns the subscription to
 * exits and the like.
 */
export async function restoreContainers(context: ContainerContext): Promise<Disposable> {
  const { registry, runtime, networks } = context;
  const unreadable = loadRows(context);
  await notePathsOfVolumes(context);
  await exitRecordsAreWritten(context);
  const recoveries = registry.all().map((container) => ({
    container,
    recovery: decideRecovery(container.state, factsOf(context, container)),
  }));

  failpoint('containers.restore.networks');
  await networks.restore(sandboxesToKeep(recoveries));
  const exits = runtime.onExit((report) => containerExited(context, report));
  const ooms = runtime.onOom((id) => containerOom(context, id));
  const policyStarts = registry.all().filter((container) => isToBeStarted(container));
  for (const { container, recovery } of recoveries) {
    await recover(context, container, recovery);
  }
  // A daemon that died between a start and telling those who are linked to it.
  registry.all().forEach((container) => rewriteLinkedHosts(context, container));
  failpoint('containers.restore.sweep');
  await sweep(context, unreadable);
  for (const container of registry.all()) {
    context.logs.adopt(loggedRun(context, container), { isRunning: isLive(container.state) });
  }
  // Only now: a container that is starting must not meet the sweep.
  registry.all().forEach((container) => scheduleRestart(context, container));
  // Each of them is known as one before the first asks which it has to wait for.
  const allAreKnown = Promise.resolve();
  for (const container of policyStarts) {
    container.startWithDaemon = allAreKnown.then(() => startWithDaemon(context, container));
  }
  registry.all().forEach((container) => void goOnStopping(context, container));
  return {
    [Symbol.dispose]: () => {
      exits[Symbol.dispose]();
      ooms[Symbol.dispose]();
    },
  };
}

/**
 * Fills the registry. A row that cannot be read is left as it is or quarantined; its files stay: one bad row stops
 * nobody. Answers the ids of such rows.
 */
function loadRows(context: ContainerContext): ReadonlySet<string> {
  const rows = context.table.all();
  const unreadable = new Set(context.table.quarantined());
  for (const row of rows) {
    try {
      const { id, name, imageId, layerIds, createdNano } = row;
      context.registry.add(
        newContainer({
          id,
          name,
          imageId,
          layerIds,
          createdNano,
          // Written by create, from the same type; the database keeps JSON as it is.
          spec: row.spec as ContainerSpec,
          state: decodeState(row.state),
        }),
      );
    } catch (error) {
      unreadable.add(row.id);
      context.log.error({ container: row.id, err: error }, 'a container could not be read and is left alone');
    }
  }
  return unreadable;
}

async function notePathsOfVolumes(context: ContainerContext): Promise<void> {
  for (const { id, spec } of context.registry.all()) {
    try {
      await ensureVolumes(context, spec);
    } catch (error) {
      context.log.error({ container: id, err: error }, 'a volume of a container could not be restored');
    }
  }
}

/** A process that died with the last daemon may not have its exit recorded yet: a monitor that lives will do so. */
async function exitRecordsAreWritten(context: ContainerContext): Promise<void> {
  const deadline = context.clock.monotonicMs() + limits.exitRecordWaitMs;
  const isMissing = ({ id, state }: Container): boolean =>
    isLive(state) &&
    state.bootId === context.bootId &&
    !context.isAlive(state.process) &&
    context.runtime.exitOf(id) === undefined &&
    context.runtime.isMonitored(id);
  while (context.registry.all().some(isMissing) && context.clock.monotonicMs() < deadline) {
    await sleep(EXIT_RECORD_POLL_MS);
  }
}

function factsOf(
  context: ContainerContext,
  { id, state, spec }: Container,
): Parameters<typeof decideRecovery>[1] {
  const live = liveRun(state);
  return {
    id,
    bootId: context.bootId,
    nowNano: context.clock.nowNano(),
    isAlive: live !== undefined && context.isAlive(live.process),
    exit: live && context.runtime.exitOf(id),
    autoRemove: spec.hostConfig.AutoRemove,
  };
}

function sandboxesToKeep(
  recoveries: readonly { container: Container; recovery: Recovery }[],
): Parameters<ContainerContext['networks']['restore']>[0] {
  return recoveries.flatMap(({ container: { id, name, state }, recovery }) => {
    const sandbox = liveRun(state)?.sandbox;
    const isKept = recovery.kind === 'take_over' && sandbox?.ownerId === id;
    return isKept ? [{ containerId: id, containerName: name, sandbox }] : [];
  });
}

async function recover(context: ContainerContext, container: Container, recovery: Recovery): Promise<void> {
  const { id } = container;
  failpoint('containers.restore.recover');
  try {
    switch (recovery.kind) {
      case 'take_over':
        if (context.runtime.isWaiting(id)) {
          await context.runtime.begin(id);
        }
        await takeOver(context, container);
        noteStart(context, container);
        return;
      case 'ended':
        if (isLive(container.state)) {
          settleExit(context, container, container.state, recovery.report);
          await removeIfAutomatic(context, container);
        }
        return;
      case 'finish_removal':
        await context.mutex.run(id, () =>
          finishRemoval(context, container, { volumes: recovery.withVolumes, force: true }),
        );
        return;
      case 'remove':
        await context.mutex.run(id, async () => {
          // Its end may have been stored by a daemon that died before it gave back what the run had used.
          await releaseContainer(context, container, undefined);
          await removeLocked(context, container, { volumes: true, force: true });
        });
        return;
      case 'await_attempt':
      case 'nothing':
        return;
      default:
        unreachable(recovery);
    }
  } catch (error) {
    context.log.error(
      { container: id, recovery: recovery.kind, err: error },
      'a container could not be restored',
    );
  }
}

/** From here on its age is counted by a clock that nobody sets. */
function noteStart({ clock }: ContainerContext, container: Container): void {
  const live = liveRun(container.state);
  if (live !== undefined) {
    const ageMs = Number((clock.nowNano() - live.startedAtNano) / 1_000_000n);
    container.startedAtMs = clock.monotonicMs() - Math.max(0, ageMs);
  }
}

function isToBeStarted({ state, spec }: Container): boolean {
  return state.status === 'exited' && startsWithDaemon(spec.hostConfig.RestartPolicy, state.userStopped);
}

/** In the background: clients are served meanwhile. */
async function startWithDaemon(context: ContainerContext, container: Container): Promise<void> {
  try {
    failpoint('containers.restore.start');
    await donorsSettled(context, container);
    await context.mutex.run(container.id, async () => {
      if (context.registry.get(container.id) === container && container.state.status === 'exited') {
        await startLocked(context, container);
      }
    });
  } catch (error) {
    context.log.warn(
      { container: container.id, err: error },
      'a container could not be started with the daemon',
    );
  }
}
