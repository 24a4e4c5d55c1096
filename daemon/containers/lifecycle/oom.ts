import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { isLive } from '../state/state-facts.ts';

/**
 * A container that goes on has no more memory. Only a kill is noted in its state, as dockerd has it. One that ended of
 * it tells that with its end.
 */
export function containerOom(
  { registry, machine }: ContainerContext,
  id: string,
  { hasKilled }: { hasKilled: boolean },
): void {
  const container = registry.get(id);
  if (container === undefined || !isLive(container.state)) {
    return;
  }
  const event = containerEvent(container, 'oom');
  if (hasKilled) {
    machine.note(container, { type: 'oom' }, [event]);
  } else {
    machine.noteEvent(event);
  }
}
