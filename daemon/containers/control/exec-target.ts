import { conflict, unreachable } from '../../base/errors.ts';
import type { ExecTarget } from '../../execs/ports.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { makeExecProcess } from '../oci/oci-spec.ts';

/** Throws not_found, or conflict when the container cannot take a process now. */
export function execTarget(context: ContainerContext, ref: string): ExecTarget {
  const container = context.registry.find(ref);
  refuse(container);
  const { state } = container;
  const refuseUnlessRunning = (): void => {
    refuse(container);
    if (runOf(container.state) !== runOf(state)) {
      throw conflict(`Container ${container.id} is not running`);
    }
  };
  return {
    id: container.id,
    refuseUnlessRunning,
    launching: () => {
      refuseUnlessRunning();
      return container.launchGate.enter() ?? refusePaused(container);
    },
    whenEnded: () => context.waiters.wait(container.id, container.state, 'run-over').done,
    whenRemoved: () => context.waiters.wait(container.id, container.state, 'removed').done,
    process: (request) => makeExecProcess(context, container, request),
    event: (action, attributes) => containerEvent(container, action, attributes),
    note: (event) => context.machine.noteEvent(event),
    execIds: container.execIds,
  };
}

function refusePaused({ id }: Pick<Container, 'id'>): never {
  throw conflict(`Container ${id} is paused, unpause the container before exec`);
}

function refuse({ id, state }: Pick<Container, 'id' | 'state'>): void {
  switch (state.status) {
    case 'running':
      return;
    case 'paused':
      return refusePaused({ id });
    case 'restarting':
      throw conflict(`Container ${id} is restarting, wait until the container is running`);
    case 'starting':
      return refuse({ id, state: state.from });
    case 'created':
    case 'exited':
    case 'removing':
    case 'dead':
      throw conflict(`Container ${id} is not running`);
    default:
      unreachable(state);
  }
}

/** Tells one run of a container from the next. */
function runOf(state: Container['state']): bigint | undefined {
  return state.status === 'running' || state.status === 'paused' ? state.startedAtNano : undefined;
}
