import type { Container } from './container.ts';
import type { ContainerContext } from './context.ts';
import { startLocked } from './start.ts';

const NANOS_PER_MS = 1_000_000n;

/** Arms the next attempt of the restart policy, at the time its state tells; nothing when it awaits none. */
export function scheduleRestart(context: ContainerContext, container: Container): void {
  if (container.state.status !== 'restarting') {
    return;
  }
  const remainingNano = container.state.nextAttemptNano - context.clock.nowNano();
  const delayMs = Number((remainingNano + NANOS_PER_MS - 1n) / NANOS_PER_MS);
  cancelRestart(container);
  // Never longer than the policy's own delay: the wall clock may have been set back meanwhile.
  const boundedMs = Math.min(Math.max(delayMs, 0), container.state.restartDelayMs);
  container.restartTimer = context.clock.setTimeout(() => void attempt(context, container), boundedMs);
}

/** Forgets the attempt: someone stopped, started or removed the container. */
export function cancelRestart(container: Container): void {
  container.restartTimer?.[Symbol.dispose]();
  container.restartTimer = undefined;
}

async function attempt(context: ContainerContext, container: Container): Promise<void> {
  try {
    await context.mutex.run(container.id, async () => {
      // Asked under the mutex: a stop that came first has left another state.
      if (context.registry.get(container.id) === container && container.state.status === 'restarting') {
        await startLocked(context, container);
      }
    });
  } catch (error) {
    context.log.warn({ container: container.id, err: error }, 'restart policy could not start a container');
  }
}
