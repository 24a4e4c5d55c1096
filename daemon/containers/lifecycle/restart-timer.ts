import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';

const NANOS_PER_MS = 1_000_000n;

/** Arms the next attempt of the restart policy, at the time its state tells; nothing when it awaits none. */
export function armRestart(context: ContainerContext, container: Container, restart: () => void): void {
  if (container.state.status !== 'restarting') {
    return;
  }
  const remainingNano = container.state.nextAttemptNano - context.clock.nowNano();
  const delayMs = Number((remainingNano + NANOS_PER_MS - 1n) / NANOS_PER_MS);
  cancelRestart(container);
  // Never longer than the policy's own delay: the wall clock may have been set back meanwhile.
  const boundedMs = Math.min(Math.max(delayMs, 0), container.state.restartDelayMs);
  container.restartTimer = context.clock.setTimeout(restart, boundedMs);
}

/** Forgets the attempt: someone stopped, started or removed the container. */
export function cancelRestart(container: Container): void {
  container.restartTimer?.[Symbol.dispose]();
  container.restartTimer = undefined;
}
