import { conflict, errorText, internal, notFound } from '../../base/errors.ts';
import type { EngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { measured } from '../../base/measured.ts';
import { persistently } from '../../base/concurrency/retry.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { killAndWait } from './kill.ts';
import { loggedRun } from '../stdio/logged-run.ts';
import { removeLink } from '../resources/links.ts';
import { releaseEnded } from '../lifecycle/release.ts';
import { cancelRestart } from '../state/container.ts';
import { countsAsRunning, isLive } from '../state/state-facts.ts';
import { dismissPendingClients } from '../stdio/attach-slot.ts';
import { startIsOver } from './stop.ts';
import { anonymousVolumes } from '../resources/volumes.ts';

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
    if (context.registry.get(container.id) === container) {
      await removeLocked(context, container, options);
    } else if (!(options.force && container.spec.hostConfig.AutoRemove)) {
      throw notFound(`No such container: ${ref}`);
    }
    // Otherwise it was removed since by its own `--rm`, as it was killed: what was asked for is done.
  });
}

async function bringToRest(context: ContainerContext, container: Container): Promise<void> {
  await startIsOver(context, container);
  if (isLive(container.state)) {
    await killAndWait(context, container);
  } else if (container.state.status === 'restarting') {
    cancelRestart(container);
    context.machine.note(container, { type: 'stop' });
  }
}

/**
 * The removal itself, under the container's mutex: `removing` is stored, then files go, then the row. A full disk that
 * takes neither prevents no removal of what fills it: an empty directory says then what the row cannot.
 */
export function removeLocked(
  context: ContainerContext,
  container: Container,
  options: RemoveOptions,
): Promise<void> {
  return measured('container', 'delete', () => removeNow(context, container, options));
}

async function removeNow(
  context: ContainerContext,
  container: Container,
  options: RemoveOptions,
): Promise<void> {
  refuseRemoval(container);
  await releaseEnded(container);
  failpoint('containers.remove.commit');
  let isMarked = false;
  // On disk before its files go: a power cut must not bring back a container without them. One of a build that comes
  // back is removed by the next start.
  context.machine.note(container, { type: 'remove', withVolumes: options.volumes }, [], {
    durable: container.spec.ofBuild !== 'removed',
    stored: () => (isMarked = true),
  });
  await finishRemoval(context, container, { ...options, isMarked });
}

/** From `removing` to nothing; `restore` continues here after a crash. `isMarked`: the row says `removing`. */
export async function finishRemoval(
  context: ContainerContext,
  container: Container,
  options: RemoveOptions & { isMarked: boolean },
): Promise<void> {
  const { machine, rootfs, images, clock, log } = context;
  const { id } = container;
  await context.logs.remove(loggedRun(context, container));
  let areFilesLeft = false;
  try {
    await persistently(clock, () => {
      failpoint('containers.remove.files');
      return rootfs.remove(id, { leaveEmpty: !options.isMarked });
    });
  } catch (error) {
    if (!options.force) {
      throw removalFailed(context, container, `failed to remove its files: ${errorText(error)}`, error);
    }
    // The record goes; the sweep of the next start tries the directories again.
    log.error({ container: id, err: error }, 'forced removal left files behind');
    areFilesLeft = true;
  }
  if (options.volumes) {
    // Before the row, which is the only one that knows them: a daemon that dies here goes on with them.
    await removeVolumes(context, container);
  }
  machine.forget(container, [containerEvent(container, 'destroy')], {
    // Otherwise they would be kept as those of a container whose record was lost.
    ...(areFilesLeft && { first: () => rootfs.markRemoved(id) }),
    ...(!options.isMarked && { stored: () => rootfs.forgetRemoved(id) }),
  });
  dismissPendingClients(container);
  try {
    await persistently(clock, () => images.containerRemoved(container.imageId));
  } catch (error) {
    // The container is gone all the same; the next removal of an image collects its layers.
    log.error({ container: id, err: error }, 'layers of a removed container stay');
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
      // As with dockerd it is then a volume like any other, without users.
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
  context.machine.note(container, { type: 'remove_failed', error });
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
