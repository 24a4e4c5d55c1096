import { conflict, isEngineError, notFound } from '../../base/errors.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { liveProcess, openLiveView, openRestingView, type OpenView } from './view.ts';

/** A view to be read, of a container in any state. Throws conflict for one that is being removed. */
export async function openReadView(context: ContainerContext, container: Container): Promise<OpenView> {
  const live = await liveView(context, container);
  return live ?? (await atRest(context, container, () => openRestingView(context, container)));
}

/** The files of a container that runs; undefined when it does not, also when it has just ended. */
export async function liveView(
  context: ContainerContext,
  container: Container,
): Promise<OpenView | undefined> {
  const process = liveProcess(container);
  if (process === undefined) {
    return undefined;
  }
  try {
    return openLiveView(context, container, process);
  } catch (error) {
    if (!isEngineError(error, 'conflict')) {
      throw error;
    }
  }
  // Its end is on the way.
  await context.waiters.wait(container.id, container.state, 'run-over').done;
  return undefined;
}

/** Does `work` under the container's mutex while it does not run; when it runs by then, what it shows is used. */
export async function atRest(
  context: ContainerContext,
  container: Container,
  work: () => Promise<OpenView>,
): Promise<OpenView> {
  return await context.mutex.run(container.id, async () => {
    refuseRemoved(context, container);
    const process = liveProcess(container);
    return process === undefined ? await work() : openLiveView(context, container, process);
  });
}

export function refuseRemoved(context: ContainerContext, container: Container): void {
  if (context.registry.get(container.id) !== container) {
    throw notFound(`No such container: ${container.id}`);
  }
  const { status } = container.state;
  if (status === 'removing' || status === 'dead') {
    throw conflict(`container ${container.id} is ${status === 'dead' ? 'dead' : 'being removed'}`);
  }
}
