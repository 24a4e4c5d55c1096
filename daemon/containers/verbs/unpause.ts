import { conflict } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { Rollback } from '../../base/rollback.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';

/** Lets the processes of a paused container go on. Throws conflict when it is not paused. */
export async function unpauseContainer(context: ContainerContext, ref: string): Promise<void> {
  const { registry, mutex, machine, runtime, log } = context;
  const container = registry.find(ref);
  const { id } = container;
  await mutex.run(id, async () => {
    if (container.state.status !== 'paused') {
      throw conflict(`Container ${id} is not paused`);
    }
    await using rollback = new Rollback(log, { container: id });
    failpoint('containers.unpause.thaw');
    runtime.control.thaw(id);
    rollback.defer('freeze again', () => runtime.control.freeze(id));
    failpoint('containers.unpause.commit');
    machine.note(container, { type: 'unpause' }, [containerEvent(container, 'unpause')]);
    rollback.commit();
  });
}

/** A paused container was sent the signal that is to end it: only a process that goes on can take it. As dockerd. */
export function thawToEnd({ machine, runtime }: ContainerContext, container: Container): void {
  if (container.state.status !== 'paused') {
    return;
  }
  failpoint('containers.stop.thaw');
  runtime.control.thaw(container.id);
  machine.note(container, { type: 'unpause' }, [containerEvent(container, 'unpause')]);
}
