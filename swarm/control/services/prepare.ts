import type { ServiceWriteOptions } from '../../../api/types/swarm/ports.ts';
import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import type { ControlContext } from '../context.ts';
import { pinImage, type Pinned } from './image-pin.ts';
import { withNetworks } from './networks.ts';
import { normaliseSpec } from './spec/normalise.ts';
import { checkSpec } from './validate/spec.ts';

/** A specification as it can be stored, or the reason why not, in the order in which dockerd looks for one. */
export async function prepareSpec(
  context: ControlContext,
  sent: ServiceSpec,
  options: ServiceWriteOptions,
): Promise<Pinned> {
  const { TaskTemplate: task } = sent;
  const resolved = task ? { ...sent, TaskTemplate: withNetworks(context, task) } : sent;
  const pinned = await pinImage(context, normaliseSpec(resolved), options);
  checkSpec(context, pinned.spec);
  return pinned;
}
