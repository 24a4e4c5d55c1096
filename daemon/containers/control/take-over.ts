import type { Container } from '../container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../events.ts';
import type { PausedState, RunningState } from '../state.ts';
import { isLive } from '../state-facts.ts';
import { specTag } from '../update.ts';

/** Brings a running container that an earlier daemon left into line with what the database says of it. */
export async function takeOver(context: ContainerContext, container: Container): Promise<void> {
  settleFreezer(context, container);
  await context.runtime.control.settleLimits(container.id, specTag(container.spec));
}

/**
 * The kernel knows whether it is paused: the last daemon may have died between kernel and database. A freeze that was
 * not complete is undone: nobody was told of it.
 */
function settleFreezer({ machine, runtime, log }: ContainerContext, container: Container): void {
  const { id, state } = container;
  if (isLive(state) && state.pausedForCommit === true) {
    endCommit({ machine, runtime, log }, container, state);
    return;
  }
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

/** The commit that it was paused for went with the last daemon. */
function endCommit(
  { machine, runtime, log }: Pick<ContainerContext, 'machine' | 'runtime' | 'log'>,
  container: Container,
  state: RunningState | PausedState,
): void {
  runtime.control.thaw(container.id);
  const failed =
    state.status === 'paused'
      ? machine.applyFact(container, { type: 'unpause' }, [containerEvent(container, 'unpause')])
      : machine.applyFact(container, { type: 'commit_pause', isBegun: false });
  if (failed !== undefined) {
    log.error({ container: container.id, err: failed.failure }, 'the end of a commit could not be stored');
  }
}
