import type { ContainerContext } from './context.ts';
import { containerEvent } from './events.ts';
import { startByUser } from './start.ts';
import { countsAsRunning } from './state-facts.ts';
import { bringDown, startIsOver } from './stop.ts';
import type { StopOptions } from './stop.ts';

/** Stops a container if it runs, and starts it. */
export async function restartContainer(
  context: ContainerContext,
  ref: string,
  options: StopOptions,
): Promise<void> {
  const container = context.registry.find(ref);
  container.isBeingRestarted = true;
  try {
    await startIsOver(context, container);
    if (countsAsRunning(container.state)) {
      await bringDown(context, container, options);
    }
    await startByUser(context, container);
  } finally {
    container.isBeingRestarted = false;
  }
  context.machine.record(containerEvent(container, 'restart'));
}
