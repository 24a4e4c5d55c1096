import { conflict, internal } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { containerEvent } from '../state/events.ts';
import { cancelRestart } from '../state/container.ts';
import { parseSignal, SIGKILL } from '../../base/signals.ts';
import { releaseIsOver, requestEnd, startIsOver } from './stop.ts';
import { isLive } from '../state/state-facts.ts';

/** Sends a signal, SIGKILL by default; that one is waited for. Throws conflict when the container does not run. */
export async function killContainer(
  context: ContainerContext,
  ref: string,
  options: { signal?: string },
): Promise<void> {
  const container = context.registry.find(ref);
  const signal = options.signal ? parseSignal(options.signal) : SIGKILL;
  await startIsOver(context, container);
  const asksForEnd = signal === SIGKILL || signal === container.spec.stopSignal;
  if (container.state.status === 'restarting' && asksForEnd) {
    cancelRestart(container);
    context.machine.note(container, { type: 'stop' }, [killEvent(container, signal)]);
    return;
  }
  if (!isLive(container.state)) {
    throw conflict(`Cannot kill container: ${ref}: Container ${container.id} is not running`);
  }
  if (signal === SIGKILL) {
    await killAndWait(context, container);
  } else if (asksForEnd) {
    requestEnd(context, container, signal);
  } else {
    context.machine.noteEvent(killEvent(container, signal));
    context.runtime.signal(container.state.process, signal);
  }
}

/** Kills, and waits until all it used is free. Throws internal when the kernel keeps the process for too long. */
export async function killAndWait(context: ContainerContext, container: Container): Promise<void> {
  const ended = context.waiters.wait(container.id, container.state, 'at-rest');
  requestEnd(context, container, SIGKILL, { signal: SIGKILL, killAfterMs: limits.killWaitMs });
  if (!(await withTimeout(context.clock, ended.done, limits.killWaitMs))) {
    ended.cancel();
    throw internal(
      `Cannot kill container: ${container.id}: tried to kill container, but did not receive an exit event`,
    );
  }
  await releaseIsOver(context, container);
}

function killEvent(container: Container, signal: number): ReturnType<typeof containerEvent> {
  return containerEvent(container, 'kill', { signal: String(signal) });
}
