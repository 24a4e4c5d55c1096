import type { CommitContainerRequest } from '../../../api/types/ports.ts';
import { conflict, isEngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { spoolChanges } from '../files/changes.ts';
import { pauseContainer, unpauseContainer } from './pause.ts';

/**
 * Makes an image of a container: its changes are the new layer on its image's. A container that runs is paused
 * meanwhile, if asked for, and goes on also when the daemon dies in the middle: the next one sees to that.
 */
export async function commitContainer(
  context: ContainerContext,
  ref: string,
  request: CommitContainerRequest,
): Promise<{ Id: string }> {
  const container = context.registry.find(ref);
  refuseRemoved(container);
  const { id, imageId, spec } = container;
  const plan = context.images.planCommit({
    ...request,
    container: { id, imageId, config: spec.config },
    config: request.config,
  });
  const resume = request.pause ? await pauseIfRunning(context, container) : undefined;
  try {
    await using tar = await spoolChanges(context, container, request.signal);
    failpoint('containers.commit.image');
    const Id = await plan.run(tar, {
      signal: request.signal,
      event: (made, name) =>
        containerEvent(container, 'commit', { comment: request.comment, imageID: made, imageRef: name }),
    });
    return { Id };
  } finally {
    await resume?.();
  }
}

function refuseRemoved({ id, state }: Container): void {
  if (state.status === 'dead') {
    throw conflict(`You cannot commit container ${id} which is Dead`);
  }
  if (state.status === 'removing') {
    throw conflict(`You cannot commit container ${id} which is being removed`);
  }
}

/** Answers how to let it go on; undefined when there was nothing to stop. */
async function pauseIfRunning(
  context: ContainerContext,
  container: Container,
): Promise<(() => Promise<void>) | undefined> {
  if (container.state.status !== 'running') {
    return undefined;
  }
  try {
    await pauseContainer(context, container.id, { forCommit: true });
  } catch (error) {
    // It ended, or is being ended: what it leaves is what is committed.
    if (isEngineError(error, 'conflict')) {
      return undefined;
    }
    throw error;
  }
  return async () => {
    try {
      await unpauseContainer(context, container.id);
    } catch (error) {
      // Another client unpaused it first, or it ended.
      if (!isEngineError(error, 'conflict') && !isEngineError(error, 'not_found')) {
        throw error;
      }
    }
  };
}
