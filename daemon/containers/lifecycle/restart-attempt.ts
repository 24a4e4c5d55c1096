import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { ownersSettled, warnGuests } from './start-order.ts';
import { armRestart } from './restart-timer.ts';
import { startLocked } from '../verbs/start.ts';

/** Plans the next attempt of a container whose restart policy awaits one. */
export function scheduleRestart(context: ContainerContext, container: Container): void {
  armRestart(context, container, () => {
    void restart(context, container).catch((error: unknown) => {
      context.log.warn({ container: container.id, err: error }, 'restart policy could not start a container');
    });
  });
}

async function restart(context: ContainerContext, container: Container): Promise<void> {
  const awaiting = container.state;
  await ownersSettled(context, container);
  await context.mutex.run(container.id, async () => {
    // Asked under the mutex: a stop that came first has left another state, and so has a start with an end after it.
    if (context.registry.get(container.id) === container && container.state === awaiting) {
      await startLocked(context, container);
      warnGuests(context, container);
    }
  });
}
