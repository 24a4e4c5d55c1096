import type { ExecCreateRequest } from '../../../api/types/exec.ts';
import type { OciProcess } from '../../../runtime/runc/spec-types.ts';
import { conflict, unreachable } from '../../base/errors.ts';
import type { EventDraft } from '../../events/journal-types.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { makeExecProcess } from '../oci/oci-spec.ts';

/** A running container as the exec domain sees it. */
export interface ContainerExecTarget {
  readonly id: string;
  /** Throws conflict with dockerd's text unless the container runs now, in the run the target was taken from. */
  refuseUnlessRunning(): void;
  /**
   * Call it right before the process is launched and dispose when it is there or has failed: the container is not
   * paused meanwhile. Throws as `refuseUnlessRunning`, also while the container is being paused.
   */
  launching(): Disposable;
  /** Resolves when the run that goes on now is over. Ask once per container: each call is remembered until then. */
  whenEnded(): Promise<unknown>;
  /** Resolves when the container is removed. Ask once per run. */
  whenRemoved(): Promise<unknown>;
  /** The process of a request, in the container's sandbox. Throws invalid_argument. */
  process(request: ExecCreateRequest): OciProcess;
  /** An event of the container. */
  event(action: string, attributes: Record<string, string>): EventDraft;
  /** Never throws. */
  note(event: EventDraft): void;
  /** Exec instances that inspect lists. */
  readonly execIds: Set<string>;
}

/** Throws not_found, or conflict when the container cannot take a process now. */
export function execTarget(context: ContainerContext, ref: string): ContainerExecTarget {
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
