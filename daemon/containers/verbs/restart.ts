import type { StopOptions } from '../../../api/types/ports.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { EngineError } from '../../base/errors.ts';
import type { Container } from '../state/container.ts';
import { removeIfAutomatic } from '../lifecycle/exit.ts';
import { startByUser } from './start.ts';
import { countsAsRunning } from '../state/state-facts.ts';
import { bringDown, startIsOver } from './stop.ts';

/**
 * Stops a container if it runs, and starts it. One that another client has started meanwhile counts as restarted. An
 * automatic removal waits for the last of several restarts; what that leaves ended goes.
 */
export async function restartContainer(
  context: ContainerContext,
  ref: string,
  options: StopOptions,
): Promise<void> {
  const container = context.registry.find(ref);
  container.restarts += 1;
  try {
    await startIsOver(context, container);
    if (countsAsRunning(container.state)) {
      await bringDown(context, container, options);
    }
    await startUnlessStarted(context, container);
  } finally {
    container.restarts -= 1;
    removeIfAutomatic(context, container).catch((error: unknown) => {
      context.log.error({ container: container.id, err: error }, 'automatic removal failed');
    });
  }
  context.machine.noteEvent(containerEvent(container, 'restart'));
}

async function startUnlessStarted(context: ContainerContext, container: Container): Promise<void> {
  try {
    await startByUser(context, container);
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== 'not_modified') {
      throw error;
    }
  }
}
