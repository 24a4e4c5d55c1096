import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import type { PausedState, RunningState } from '../state/state.ts';
import { isLive, liveRun } from '../state/state-facts.ts';
import { specTag } from '../verbs/update.ts';

/** Brings a running container that an earlier daemon left into line with what the database says of it. */
export async function takeOver(context: ContainerContext, container: Container): Promise<void> {
  const live = liveRun(container.state);
  if (live !== undefined) {
    context.runtime.adopt(container.id, live.process);
  }
  settleFreezer(context, container);
  await context.runtime.control.settleLimits(container.id, specTag(container.spec));
}

/**
 * The kernel knows whether it is paused: the last daemon may have died between kernel and database. A freeze that was
 * not complete is undone: no client was told of it.
 */
function settleFreezer({ machine, runtime }: ContainerContext, container: Container): void {
  const { id, state } = container;
  if (isLive(state) && state.pausedForCommit === true) {
    endCommit({ machine, runtime }, container, state);
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
  machine.note(container, { type }, [containerEvent(container, type)]);
}

/** The commit that it was paused for went with the last daemon. */
function endCommit(
  { machine, runtime }: Pick<ContainerContext, 'machine' | 'runtime'>,
  container: Container,
  state: RunningState | PausedState,
): void {
  runtime.control.thaw(container.id);
  if (state.status === 'paused') {
    machine.note(container, { type: 'unpause' }, [containerEvent(container, 'unpause')]);
  } else {
    machine.note(container, { type: 'commit_pause', isBegun: false });
  }
}
