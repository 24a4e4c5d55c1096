import { conflict, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { persistently } from '../../base/retry.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { parseVolumesFrom } from '../request/mounts/volumes-from.ts';
import { ensureVolumes, volumeMounts } from './volumes.ts';

/** The containers that VolumesFrom names, each once. `buildSpec` has found them all. */
export function volumeDonors({ registry }: ContainerContext, entries: readonly string[]): Container[] {
  return [...new Set(entries.map((text) => registry.find(parseVolumesFrom(text).ref)))];
}

/**
 * Fills the volumes of donors that were created and never started, as dockerd does when it creates them: such a
 * container exists for nothing but its volumes.
 */
export async function fillDonatedVolumes(
  context: ContainerContext,
  donors: readonly Container[],
): Promise<void> {
  for (const donor of donors) {
    await context.mutex.run(donor.id, async () => {
      // A start that came first has filled them.
      if (donor.state.status === 'created' && context.registry.get(donor.id) === donor) {
        await fill(context, donor);
      }
    });
  }
}

async function fill(context: ContainerContext, donor: Container): Promise<void> {
  const { mounts, rootfs, volumes, clock } = context;
  const wanted = volumeMounts(donor.spec).filter(({ noCopy }) => !noCopy);
  if (wanted.length === 0) {
    return;
  }
  await ensureVolumes(context, donor.spec);
  const layout = rootfs.layout(donor.id, donor.layerIds);
  failpoint('containers.create.donor');
  try {
    await mounts.overlay(layout, { readonly: false });
    for (const { name, destination } of wanted) {
      await volumes.populate(name, layout.merged, destination);
    }
  } finally {
    await persistently(clock, () => mounts.unmount(layout.merged));
  }
}

/** Whoever is being removed may take the volumes along: called in the tick in which the new container is stored. */
export function refuseGoneDonors({ registry }: ContainerContext, donors: readonly Container[]): void {
  for (const donor of donors) {
    if (registry.get(donor.id) !== donor) {
      throw invalidArgument(`No such container: ${donor.name} (VolumesFrom)`);
    }
    if (donor.state.status === 'removing') {
      throw conflict(`VolumesFrom: container ${donor.id} is being removed`);
    }
  }
}
