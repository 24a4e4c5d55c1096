import type { Container } from '../container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../events.ts';

/**
 * Brings the state of a container that an earlier daemon left into line with its freezer: that daemon may have died
 * between the kernel and the database. A freeze that was not complete is undone: nobody was told of it.
 */
export function settleFreezer({ machine, runtime, log }: ContainerContext, container: Container): void {
  const { id, state } = container;
  if (runtime.control.freezerState(id) === 'changing') {
    runtime.control.thaw(id);
  }
  const isFrozen = runtime.control.freezerState(id) === 'frozen';
  if (isFrozen === (state.status === 'paused')) {
    return;
  }
  const type = isFrozen ? 'pause' : 'unpause';
  const failed = machine.applyFact(container, { type }, [containerEvent(container, type)]);
  if (failed !== undefined) {
    log.error({ container: id, err: failed.failure }, 'a pause could not be stored');
  }
}
