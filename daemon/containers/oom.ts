import type { ContainerContext } from './context.ts';
import { containerEvent } from './events.ts';
import { isLive } from './state-facts.ts';

/** The kernel has killed processes of a container that goes on. One that ended of it tells that with its end. */
export function containerOom({ registry, machine, log }: ContainerContext, id: string): void {
  const container = registry.get(id);
  if (container === undefined || !isLive(container.state)) {
    return;
  }
  const failed = machine.applyFact(container, { type: 'oom' }, [containerEvent(container, 'oom')]);
  if (failed !== undefined) {
    log.error({ container: id, err: failed.failure }, 'a kill for want of memory could not be stored');
  }
}
