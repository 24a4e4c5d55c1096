import { conflict, errorText, internal, notFound } from '../base/errors.ts';
import type { EngineError } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { persistently } from '../base/retry.ts';
import type { Container } from './container.ts';
import type { ContainerContext } from './context.ts';
import { containerEvent } from './events.ts';
import { killAndWait } from './kill.ts';
import { loggedRun } from './logged-run.ts';
import { removeLink } from './links.ts';
import { releaseEnded } from './release.ts';
import { cancelRestart } from './restart-timer.ts';
import { countsAsRunning, isLive } from './state-facts.ts';
import { startIsOver } from './stop.ts';
import { anonymousVolumes } from './volumes.ts';

export interface RemoveOptions {
  /** Its anonymous volumes too. */
  volumes: boolean;
  /** Kill it first when it runs; remove its record even when some files resist. */
  force: boolean;
}

/**
 * Removes a container, or with `link` only the link that `ref` names. Throws conflict when it runs and is not to be
 * killed.
 */
export async function removeContainer(
  context: ContainerContext,
  ref: string,
  options: RemoveOptions & { link: boolean },
): Promise<void> {
  if (options.link) {
    await removeLink(context, ref);
    return;
  }
  const container = context.registry.find(ref);
  if (container.state.status === 'removing') {
    throw conflict(`removal of container ${container.id} is already in progress`);
  }
  if (options.force) {
    await bringToRest(context, container);
  }
  await context.mutex.run(container.id, async () => {
    await context.turns.next();
    if (context.registry.get(container.id) !== container) {
      throw notFound(`No such container: ${ref}`);
    }
    await removeLocked(context, container, options);
  });
}

async function bringToRest(context: ContainerContext, container: Container): Promise<void> {
  await startIsOver(context, container);
  if (isLive(container.state)) {
    await killAndWait(context, container);
  } else if (container.state.status === 'restarting') {
    cancelRestart(container);
    context.machine.apply(container, { type: 'stop' });
  }
}

/** The removal itself, under the container's mutex: `removing` is stored, then files go, then the row. */
export async function removeLocked(
  context: ContainerContext,
  container: Container,
  options: RemoveOptions,
): Promise<void> {
  refuseRemoval(container);
  await releaseEnded(container);
  failpoint('containers.remove.commit');
  // On disk before its files go: a power cut must not bring back a container without them.
  context.machine.apply(container, { type: 'remove', withVolumes: options.volumes }, [], { durable: true });
  await finishRemoval(context, container, options);
}

/** From `removing` to nothing; `restore` continues here after a crash. */
export async function finishRemoval(
  context: ContainerContext,
  container: Container,
  options: RemoveOptions,
): Promise<void> {
  const { machine, rootfs, images, clock, log } = context;
  const { id } = container;
  await context.logs.remove(loggedRun(context, container));
  try {
    await persistently(clock, () => {
      failpoint('containers.remove.files');
      return rootfs.remove(id);
    });
  } catch (error) {
    if (!options.force) {
      throw removalFailed(context, container, `failed to remove its files: ${errorText(error)}`, error);
    }
    // The record goes; the sweep of the next start tries the directories again.
    log.error({ container: id, err: error }, 'forced removal left files behind');
    disown(context, container);
  }
  if (options.volumes) {
    // Before the row, which is the only one that knows them: a daemon that dies here goes on with them.
    await removeVolumes(context, container);
  }
  try {
    await persistently(clock, () => machine.forget(container, [containerEvent(container, 'destroy')]));
  } catch (error) {
    throw removalFailed(context, container, `failed to remove its record: ${errorText(error)}`, error);
  }
  for (const seat of container.pendingAttaches) {
    seat.cancel();
  }
  try {
    await persistently(clock, () => images.containerRemoved(container.imageId));
  } catch (error) {
    // The container is gone all the same; the next removal of an image collects its layers.
    log.error({ container: id, err: error }, 'layers of a removed container stay');
  }
}

/** Otherwise they would be kept as those of a container whose record was lost. */
function disown({ rootfs, log }: ContainerContext, { id }: Container): void {
  try {
    rootfs.markRemoved(id);
  } catch (error) {
    log.error({ container: id, err: error }, 'the next start will keep these files');
  }
}

async function removeVolumes(context: ContainerContext, container: Container): Promise<void> {
  const { volumes, clock, log } = context;
  for (const name of anonymousVolumes(container)) {
    try {
      await persistently(clock, () => {
        failpoint('containers.remove.volumes');
        return volumes.removeAnonymous(name, container.id);
      });
    } catch (error) {
      // As with dockerd it is then a volume like any other, that nobody uses.
      log.error({ container: container.id, volume: name, err: error }, 'anonymous volume stays');
    }
  }
}

/** `dead` is where a removal can be tried again from; `removing` would say for ever that one is under way. */
function removalFailed(
  context: ContainerContext,
  container: Container,
  why: string,
  cause: unknown,
): EngineError {
  const error = `container ${container.id}: ${why}`;
  const failed = context.machine.applyFact(container, { type: 'remove_failed', error });
  if (failed !== undefined) {
    context.log.error({ container: container.id, err: failed.failure }, 'failed removal could not be stored');
  }
  return internal(error, { cause });
}

function refuseRemoval(container: Container): void {
  const { id, state } = container;
  const way = 'top the container before attempting removal or force remove';
  if (state.status === 'paused') {
    throw conflict(`You cannot remove a paused container ${id}. Unpause and then s${way}`);
  }
  if (countsAsRunning(state)) {
    throw conflict(`You cannot remove a ${state.status} container ${id}. S${way}`);
  }
}
