import { setTimeout as sleep } from 'node:timers/promises';
import { unreachable } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { ownersSettled } from './start-order.ts';
import { newContainer } from '../state/container.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerExited, removeIfAutomatic, settleExit, settleUnrun, containerOom } from './exit.ts';
import { loggedRun } from '../stdio/logged-run.ts';
import { rewriteLinkedHosts } from '../resources/links.ts';
import { decideRecovery } from './recovery.ts';
import { releaseContainer, releaseEnded } from './release.ts';
import { finishRemoval, removeContainer, removeLocked } from '../verbs/remove.ts';
import { takeOver } from './take-over.ts';
import { isToBeStarted, scheduleRestart, tryAgainLater } from './restart.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import { startLocked } from '../verbs/start.ts';
import { isAtRest, isLive, liveRun } from '../state/state-facts.ts';
import { decodeState } from '../state/state-codec.ts';
import { resumeStop } from '../verbs/stop.ts';
import { findLeftovers, isLeftBy, sweep } from './sweep.ts';
import type { Leftovers } from './sweep.ts';
import { ensureVolumes } from '../resources/volumes.ts';

const EXIT_RECORD_POLL_MS = 20;

/**
 * Brings rows and world together after a start of the daemon, whenever and however the last one ended: takes over what
 * runs, settles what ended, finishes what was begun, sweeps what has no owner. All containers side by side; those
 * that take longer than `limits.restoreWaitMs` go on behind it, and a verb waits for the one container that it names
 * (`whenRestored`). Returns the subscription to exits and the like. `restored` is told of each that is taken over.
 */
export async function restoreContainers(
  context: ContainerContext,
  restored: (container: Container) => void,
): Promise<Disposable> {
  const { registry, runtime, networks, clock, log } = context;
  const unreadable = loadRows(context);
  failpoint('containers.restore.networks');
  await networks.restore(sandboxesToKeep(context));
  const found = await findLeftovers(context, unreadable);
  releaseFirst(context, found);
  const exits = runtime.onExit((report) => containerExited(context, report));
  const ooms = runtime.onOom((id, what) => containerOom(context, id, what));
  const policyStarts = registry.all().filter((container) => isToBeStarted(container));

  const work = registry.all().map((container) => restoreOne(context, container, restored));
  failpoint('containers.restore.sweep');
  if (!(await withTimeout(clock, Promise.all([...work, sweep(context, found)]), limits.restoreWaitMs))) {
    log.warn({ containers: [...context.restoring.keys()] }, 'some containers are still being restored');
  }
  // Each of them is known as one before the first asks which it has to wait for.
  const allAreKnown = Promise.resolve();
  for (const container of policyStarts) {
    container.startWithDaemon = allAreKnown.then(() => startWithDaemon(context, container));
  }
  return {
    [Symbol.dispose]: () => {
      exits[Symbol.dispose]();
      ooms[Symbol.dispose]();
    },
  };
}

/** Resolves when what the last daemon left of this container is settled. Throws not_found as every verb does. */
export async function whenRestored({ registry, restoring }: ContainerContext, ref: string): Promise<void> {
  if (restoring.size > 0) {
    await restoring.get(registry.find(ref).id);
  }
}

/** Never rejects. */
async function restoreOne(
  context: ContainerContext,
  container: Container,
  restored: (container: Container) => void,
): Promise<void> {
  const { registry, restoring, logs, log } = context;
  let settled!: () => void;
  restoring.set(
    container.id,
    new Promise((resolve) => {
      settled = resolve;
    }),
  );
  try {
    await notePathsOfVolumes(context, container);
    await recover(context, container);
    await endBuildStep(context, container);
    if (registry.get(container.id) === container) {
      // A daemon that died between a start and the update of the containers that are linked to it.
      rewriteLinkedHosts(context, container);
      logs.adopt(loggedRun(context, container), { isRunning: isLive(container.state) });
      scheduleRestart(context, container);
      restored(container);
      void resumeStop(context, container).catch((error: unknown) => {
        log.error({ container: container.id, err: error }, 'a stop could not be finished');
      });
    }
  } catch (error) {
    log.error({ container: container.id, err: error }, 'a container could not be restored');
  } finally {
    restoring.delete(container.id);
    settled();
  }
}

/** The build that it was made for went with the last daemon, and with it the step that would end and remove it. */
async function endBuildStep(context: ContainerContext, { id, spec, state }: Container): Promise<void> {
  const isKept = spec.ofBuild === 'kept' && isAtRest(state) && state.status !== 'created';
  if (spec.ofBuild === undefined || isKept || context.registry.get(id) === undefined) {
    return;
  }
  context.log.info({ container: id }, 'the build of a container was interrupted; it is ended and removed');
  failpoint('containers.restore.build');
  await removeContainer(context, id, { volumes: true, force: true, link: false });
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

/**
 * A daemon that died between an end and its release leaves mounts: whatever is done with the container first, a removal
 * above all, gives them back before. The sweep may come later.
 */
function releaseFirst(context: ContainerContext, found: Leftovers): void {
  for (const container of context.registry.all()) {
    if (!isLive(container.state) && isLeftBy(context, container, found)) {
      container.pendingRelease = () => releaseContainer(context, container, undefined);
    }
  }
}

async function notePathsOfVolumes(context: ContainerContext, { id, spec }: Container): Promise<void> {
  try {
    await ensureVolumes(context, spec);
  } catch (error) {
    context.log.error({ container: id, err: error }, 'a volume of a container could not be restored');
  }
}

/** A process that died with the last daemon may not have its exit recorded yet: a monitor that lives will do so. */
async function exitRecordIsWritten(context: ContainerContext, { id, state }: Container): Promise<void> {
  const deadline = context.clock.monotonicMs() + limits.exitRecordWaitMs;
  const isMissing = (): boolean =>
    isLive(state) &&
    state.bootId === context.bootId &&
    !context.isAlive(state.process) &&
    context.runtime.exitOf(id) === undefined &&
    context.runtime.isMonitored(id);
  while (isMissing() && context.clock.monotonicMs() < deadline) {
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
    hasNeverRun: live?.bootId === context.bootId && context.runtime.hasNeverRun(id, live.process),
    exit: live && context.runtime.exitOf(id),
    autoRemove: spec.hostConfig.AutoRemove,
    isRemoved: context.rootfs.isRemoved(id),
  };
}

function sandboxesToKeep(context: ContainerContext): Parameters<ContainerContext['networks']['restore']>[0] {
  return context.registry.all().flatMap((container) => {
    const { id, name, state } = container;
    const sandbox = liveRun(state)?.sandbox;
    const { kind } = decideRecovery(state, factsOf(context, container));
    const isKept = kind === 'take_over' && sandbox?.ownerId === id;
    return isKept ? [{ containerId: id, containerName: name, sandbox }] : [];
  });
}

async function recover(context: ContainerContext, container: Container): Promise<void> {
  const stored = container.state;
  await exitRecordIsWritten(context, container);
  if (container.state !== stored) {
    // Its exit was told meanwhile, and settled.
    return;
  }
  const recovery = decideRecovery(stored, factsOf(context, container));
  const { id } = container;
  failpoint('containers.restore.recover');
  try {
    switch (recovery.kind) {
      case 'take_over':
        if (!(await resumeStart(context, container))) {
          await recover(context, container);
          return;
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
      case 'start_again':
        if (isLive(container.state)) {
          settleUnrun(context, container, container.state, recovery.report);
          failpoint('containers.restore.again');
          await startAgain(context, container, 'restarting');
        }
        return;
      case 'finish_removal':
        await context.mutex.run(id, async () => {
          await releaseEnded(container);
          await finishRemoval(context, container, {
            volumes: recovery.withVolumes,
            force: true,
            isMarked: container.state.status === 'removing',
          });
        });
        return;
      case 'remove':
        await context.mutex.run(id, async () => {
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

/** False when init ended before it could be let go: then it has never run. */
async function resumeStart({ runtime }: ContainerContext, { id, state }: Container): Promise<boolean> {
  try {
    if (runtime.isWaiting(id)) {
      await runtime.begin(id);
    }
    return true;
  } catch (error) {
    const live = liveRun(state);
    if (live !== undefined && runtime.hasNeverRun(id, live.process)) {
      return false;
    }
    throw error;
  }
}

/** A start that no client asks for. */
async function startAgain(
  context: ContainerContext,
  container: Container,
  status: 'exited' | 'restarting',
): Promise<void> {
  await ownersSettled(context, container);
  await context.mutex.run(container.id, async () => {
    if (context.registry.get(container.id) === container && container.state.status === status) {
      await startLocked(context, container);
    }
  });
}

/** From here on its age is counted by the monotonic clock. */
function noteStart({ clock }: ContainerContext, container: Container): void {
  const live = liveRun(container.state);
  if (live !== undefined) {
    const ageMs = Number((clock.nowNano() - live.startedAtNano) / 1_000_000n);
    container.startedAtMs = clock.monotonicMs() - Math.max(0, ageMs);
  }
}

/** In the background: clients are served meanwhile. */
async function startWithDaemon(context: ContainerContext, container: Container): Promise<void> {
  try {
    failpoint('containers.restore.start');
    await context.restoring.get(container.id);
    await startAgain(context, container, 'exited');
  } catch (error) {
    context.log.warn(
      { container: container.id, err: error },
      'a container could not be started with the daemon',
    );
    tryAgainLater(context, container, error);
  }
}
