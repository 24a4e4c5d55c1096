import type { WaitCondition } from '../../../api/types/ports.ts';
import type { WaitResponse } from '../../../api/types/container.ts';
import type { ContainerContext } from '../context.ts';
import { outputIsHandedOver } from '../stdio/attach-slot.ts';
import { releaseIsOver } from './stop.ts';
import type { WaitResult } from '../state/waiters.ts';

/** Registers a wait. `done` never resolves once the client has hung up. */
export async function waitContainer(
  context: ContainerContext,
  ref: string,
  options: { condition: WaitCondition; signal: AbortSignal },
): Promise<{ done: Promise<WaitResponse> }> {
  const container = context.registry.find(ref);
  const wait = context.waiters.wait(container.id, container.state, options.condition);
  options.signal.addEventListener('abort', () => wait.cancel(), { once: true });
  const answer = async (): Promise<WaitResponse> => {
    const result = await wait.done;
    // Clients take an answer for the end of the output, too.
    await outputIsHandedOver(context, container);
    if (Object.keys(container.spec.hostConfig.PortBindings ?? {}).length > 0) {
      // Clients publish the same port again as soon as they hear of the end.
      await releaseIsOver(context, container);
    }
    return response(result, options.condition);
  };
  return { done: answer() };
}

/** A wait for the removal tells what went wrong with the removal alone: a failed start is told to its own client. */
function response({ exitCode, error }: WaitResult, condition: WaitCondition): WaitResponse {
  return error === '' || condition === 'removed'
    ? { StatusCode: exitCode }
    : { StatusCode: exitCode, Error: { Message: error } };
}
