import { conflict, errorText, internal, invalidArgument, notFound } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import type { Container } from './container.ts';
import type { ContainerContext } from './context.ts';
import { containerEvent } from './events.ts';
import { killAndWait } from './kill.ts';
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

/** Removes a container. Throws conflict when it runs and is not to be killed. */
export async function removeContainer(
  context: ContainerContext,
  ref: string,
  options: RemoveOptions & { link: boolean },
): Promise<void> {
  if (options.link) {
    throw invalidArgument(`links are not supported: container ${ref} has none to remove`);
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
  const { machine, rootfs, volumes, images, log } = context;
  try {
    failpoint('containers.remove.files');
    await rootfs.remove(container.id);
  } catch (error) {
    if (!options.force) {
      const text = `container ${container.id}: failed to remove its files: ${errorText(error)}`;
      machine.apply(container, { type: 'remove_failed', error: text });
      throw internal(text, { cause: error });
    }
    // The record goes; the sweep of the next start tries the directories again.
    log.error({ container: container.id, err: error }, 'forced removal left files behind');
  }
  machine.forget(container, [containerEvent(container, 'destroy')]);
  for (const seat of container.pendingAttaches) {
    seat.cancel();
  }
  await images.containerRemoved(container.imageId);
  if (options.volumes) {
    failpoint('containers.remove.volumes');
    for (const name of anonymousVolumes(container)) {
      await volumes.removeAnonymous(name);
    }
  }
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
