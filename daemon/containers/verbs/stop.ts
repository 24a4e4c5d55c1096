import type { StopOptions } from '../../../api/types/ports.ts';
import { limits } from '../../base/limits.ts';
import { EngineError, internal } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { containerEvent } from '../state/events.ts';
import { thawToEnd } from './pause.ts';
import { cancelRestart } from '../state/container.ts';
import { parseSignal, SIGKILL } from '../../base/signals.ts';
import type { Stopping } from '../state/state.ts';
import { isLive, liveRun } from '../state/state-facts.ts';

/**
 * Asks a container to end, then makes it. Throws not_modified when it does not run. Goes on when the client hangs up:
 * nothing here knows of it.
 */
export async function stopContainer(
  context: ContainerContext,
  ref: string,
  options: StopOptions,
): Promise<void> {
  const container = context.registry.find(ref);
  await bringDown(context, container, options);
}

/** The ladder: stop signal, patience, SIGKILL, patience, an error. Resolves when everything it used is free again. */
export async function bringDown(
  context: ContainerContext,
  container: Container,
  options: StopOptions,
): Promise<void> {
  const signal = options.signal === undefined ? container.spec.stopSignal : parseSignal(options.signal);
  const timeoutS = options.timeoutS ?? container.spec.stopTimeout ?? limits.stopTimeoutDefaultS;
  await startIsOver(context, container);
  if (!isLive(container.state)) {
    stopAtRest(context, container);
    return;
  }
  await endOrKill(context, container, { signal, killAfterMs: timeoutS * 1000 });
}

/** A stop that a daemon before this one had begun; its client is gone, its request stands. */
export async function resumeStop(context: ContainerContext, container: Container): Promise<void> {
  const stopping = liveRun(container.state)?.stopping;
  if (stopping === undefined) {
    return;
  }
  failpoint('containers.restore.stop');
  // Whether the signal had been sent is not known.
  await endOrKill(context, container, stopping);
}

async function endOrKill(context: ContainerContext, container: Container, stopping: Stopping): Promise<void> {
  const ended = context.waiters.wait(container.id, container.state, 'at-rest');
  requestEnd(context, container, stopping.signal, stopping);
  failpoint('containers.stop.signalled');
  if (!(await withTimeout(context.clock, ended.done, stopping.killAfterMs))) {
    requestEnd(context, container, SIGKILL);
    failpoint('containers.stop.killed');
    if (!(await withTimeout(context.clock, ended.done, limits.killWaitMs))) {
      ended.cancel();
      throw internal(
        `cannot stop container: ${container.id}: tried to kill container, but did not receive an exit event`,
      );
    }
  }
  await releaseIsOver(context, container);
  context.machine.noteEvent(containerEvent(container, 'stop'));
}

/** Between two attempts of a restart policy there is nothing to signal: the attempt is called off. */
function stopAtRest(context: ContainerContext, container: Container): void {
  if (container.state.status !== 'restarting') {
    throw new EngineError('not_modified', `Container ${container.id} is already stopped`);
  }
  cancelRestart(container);
  context.machine.note(container, { type: 'stop' }, [containerEvent(container, 'stop')]);
}

/**
 * Notes the wish, so that no policy works against it even over a crash, and sends the signal, whatever the disk says of
 * the note. With `stopping`, a daemon that finds the container running goes on with it.
 */
export function requestEnd(
  context: ContainerContext,
  container: Container,
  signal: number,
  stopping?: Stopping,
): void {
  if (!isLive(container.state)) {
    return;
  }
  const { process } = container.state;
  container.endRequests += 1;
  if (signal === SIGKILL) {
    container.killedRunNano = container.state.startedAtNano;
  }
  context.machine.note(container, { type: 'stop', ...(stopping && { stopping }) }, [
    containerEvent(container, 'kill', { signal: String(signal) }),
  ]);
  context.runtime.signal(process, signal);
  thawToEnd(context, container);
}

/** Waits for a start under way: there is a command to signal then, or the start has failed. */
export async function startIsOver(context: ContainerContext, container: Container): Promise<void> {
  if (container.isBeingStarted) {
    await context.mutex.run(container.id, () => undefined);
  }
}

/** Waits until what an ended run used is free: ports, mounts, names in the kernel. */
export async function releaseIsOver(context: ContainerContext, container: Container): Promise<void> {
  await context.mutex.run(container.id, () => undefined);
}
