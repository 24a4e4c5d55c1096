import { conflict } from '../../base/errors.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { isLive } from '../state/state-facts.ts';

/** Sets the size of the container's terminal, in characters. Throws conflict when it does not run. */
export async function resizeContainer(
  context: ContainerContext,
  ref: string,
  { height, width }: { height: number; width: number },
): Promise<void> {
  const container = context.registry.find(ref);
  if (!isLive(container.state)) {
    throw conflict(`Container ${container.id} is not running`);
  }
  await context.runtime.resize(container.id, height, width);
  context.machine.noteEvent(
    containerEvent(container, 'resize', { height: String(height), width: String(width) }),
  );
}
