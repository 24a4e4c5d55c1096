import { EngineError, conflict, errorText, internal } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { Rollback } from '../../base/rollback.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { containerEvent } from '../state/events.ts';
import { isRestarting } from '../state/state-facts.ts';

/**
 * Stops all processes of a container where they are. `forCommit`: it is to go on whatever becomes of this daemon.
 * Throws conflict with dockerd's texts when it does not run or is paused, or when it is ended meanwhile; internal
 * when the kernel cannot stop a process.
 */
export async function pauseContainer(
  context: ContainerContext,
  ref: string,
  { forCommit = false }: { forCommit?: boolean } = {},
): Promise<void> {
  const container = context.registry.find(ref);
  await context.mutex.run(container.id, async () => {
    refuseUnlessRunning(container);
    refuseKilled(container);
    using _closed = container.launchGate.close();
    await launchesAreOver(context, container);
    await freeze(context, container, forCommit);
  });
}

async function freeze(context: ContainerContext, container: Container, forCommit: boolean): Promise<void> {
  const { machine, log, runtime } = context;
  const { id, endRequests } = container;
  await using rollback = new Rollback(log, { container: id });
  if (forCommit) {
    // Before the kernel stops anything: a daemon that finds it frozen knows why.
    machine.commit(container, { type: 'commit_pause', isBegun: true });
    rollback.defer('no longer for a commit', () => {
      if (container.state.status === 'running') {
        machine.note(container, { type: 'commit_pause', isBegun: false });
      }
    });
    failpoint('containers.pause.marked');
  }
  rollback.defer('thaw', () => runtime.control.thaw(id));
  failpoint('containers.pause.freeze');
  try {
    await runtime.control.freeze(id);
  } catch (error) {
    const code = error instanceof EngineError ? error.code : 'internal';
    throw new EngineError(code, `Cannot pause container ${id}: ${errorText(error)}`, { cause: error });
  }
  if (container.endRequests !== endRequests) {
    // Its signal waits in the frozen process and would not be delivered.
    throw isBeingStopped(id);
  }
  // It may have ended before it froze.
  refuseUnlessRunning(container);
  failpoint('containers.pause.commit');
  machine.commit(container, { type: 'pause' }, [containerEvent(container, 'pause')]);
  rollback.commit();
}

async function launchesAreOver({ clock }: ContainerContext, container: Container): Promise<void> {
  if (!(await withTimeout(clock, container.launchGate.empty(), limits.pauseAfterLaunchMs))) {
    throw internal(`Cannot pause container ${container.id}: a process is still being started in it`);
  }
}

/** SIGKILL is on its way: frozen before it arrives, the process would stay, and so would waits for its end. */
function refuseKilled({ id, state, killedRunNano }: Container): void {
  if (state.status === 'running' && state.startedAtNano === killedRunNano) {
    throw isBeingStopped(id);
  }
}

function isBeingStopped(id: string): EngineError {
  return conflict(`Cannot pause container ${id}: it is being stopped`);
}

function refuseUnlessRunning({ id, state }: Container): void {
  if (state.status === 'paused') {
    throw conflict(`Container ${id} is already paused`);
  }
  if (isRestarting(state)) {
    throw conflict(`Container ${id} is restarting, wait until the container is running`);
  }
  if (state.status !== 'running') {
    throw conflict(`Container ${id} is not running`);
  }
}

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
