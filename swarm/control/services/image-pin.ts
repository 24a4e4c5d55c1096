import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import type { ServiceWriteOptions } from '../../../api/types/swarm/ports.ts';
import type { ControlContext } from '../context.ts';

export interface Pinned {
  spec: ServiceSpec;
  warnings: string[];
}

/**
 * A specification whose image is the one that its tag names now, on every node, for clients that leave that to the
 * manager. A registry that does not tell is a warning.
 */
export async function pinImage(
  { images }: Pick<ControlContext, 'images'>,
  spec: ServiceSpec,
  { pinImage: isWanted, registryAuth, signal }: ServiceWriteOptions,
): Promise<Pinned> {
  const { ContainerSpec: container, Placement: placement } = spec.TaskTemplate ?? {};
  const image = container?.Image;
  if (!isWanted || image === undefined || !images.isReference(image)) {
    return { spec, warnings: [] };
  }
  let pinned;
  try {
    pinned = await images.pin(image, registryAuth, signal);
  } catch {
    // Whatever the reason is: nodes that have the image can run it still.
    return { spec, warnings: [warningOf(image)] };
  }
  const platforms = [...pinned.platforms];
  const task = { ...spec.TaskTemplate, ContainerSpec: { ...container, Image: pinned.image } };
  return {
    spec: {
      ...spec,
      TaskTemplate:
        platforms.length === 0 || placement?.Platforms?.length
          ? task
          : { ...task, Placement: { ...placement, Platforms: platforms } },
    },
    warnings: [],
  };
}

function warningOf(image: string): string {
  return (
    `image ${image} could not be accessed on a registry to record\n` +
    `its digest. Each node will access ${image} independently,\n` +
    'possibly leading to different nodes running different\n' +
    'versions of the image.\n'
  );
}
