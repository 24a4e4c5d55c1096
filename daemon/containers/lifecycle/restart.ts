import { isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ContainerContext } from '../context.ts';
import { startsWithDaemon } from './restart-policy.ts';
import { cancelRestart } from '../state/container.ts';
import type { Container } from '../state/container.ts';
import { startLocked } from '../verbs/start.ts';
import { ownersSettled, warnNamespaceUsers } from './start-order.ts';

const NANOS_PER_MS = 1_000_000n;

/** Plans the next attempt of the restart policy for the time in the container's state; nothing without one. */
export function scheduleRestart(context: ContainerContext, container: Container): void {
  const { clock } = context;
  const { state } = container;
  if (state.status !== 'restarting') {
    return;
  }
  const remainingNano = state.nextAttemptNano - clock.nowNano();
  const delayMs = Number((remainingNano + NANOS_PER_MS - 1n) / NANOS_PER_MS);
  cancelRestart(container);
  // Never longer than the policy's own delay: the wall clock may have been set back meanwhile.
  const boundedMs = Math.min(Math.max(delayMs, 0), state.restartDelayMs);
  attemptIn(context, container, boundedMs);
}

/** Whether its policy wants it to run, though it has ended. */
export function isToBeStarted({ state, spec }: Container): boolean {
  return state.status === 'exited' && startsWithDaemon(spec.hostConfig.RestartPolicy, state.userStopped);
}

/**
 * After an attempt to start it that failed: where what it needs is away (the managers of its network, after all hosts
 * of a swarm were off), it is tried again until somebody stops or starts it.
 */
export function tryAgainLater(context: ContainerContext, container: Container, error: unknown): void {
  if (isEngineError(error, 'unavailable') && isToBeStarted(container)) {
    cancelRestart(container);
    attemptIn(context, container, limits.startAgainMs);
  }
}

function attemptIn(context: ContainerContext, container: Container, delayMs: number): void {
  container.restartTimer = context.clock.setTimeout(() => {
    void restart(context, container).catch((error: unknown) => {
      context.log.warn({ container: container.id, err: error }, 'restart policy could not start a container');
      tryAgainLater(context, container, error);
    });
  }, delayMs);
}

async function restart(context: ContainerContext, container: Container): Promise<void> {
  const awaiting = container.state;
  await ownersSettled(context, container);
  await context.mutex.run(container.id, async () => {
    // Asked under the mutex: a stop that came first has left another state, and so has a start with an end after it.
    if (context.registry.get(container.id) === container && container.state === awaiting) {
      await startLocked(context, container);
      warnNamespaceUsers(context, container);
    }
  });
}
