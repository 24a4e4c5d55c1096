import { conflict, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { persistently } from '../../base/concurrency/retry.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { parseVolumesFrom } from '../request/mounts/volumes-from.ts';
import { ensureVolumes, volumeMounts } from './volumes.ts';

/** The containers that VolumesFrom names, each once. `buildSpec` has found them all. */
export function volumeSources({ registry }: ContainerContext, entries: readonly string[]): Container[] {
  return [...new Set(entries.map((text) => registry.find(parseVolumesFrom(text).ref)))];
}

/**
 * Fills the volumes of sources that were created and never started, as dockerd does when it creates them: such a
 * container exists for nothing but its volumes.
 */
export async function fillSourceVolumes(
  context: ContainerContext,
  sources: readonly Container[],
): Promise<void> {
  for (const source of sources) {
    await context.mutex.run(source.id, async () => {
      // A start that came first has filled them.
      if (source.state.status === 'created' && context.registry.get(source.id) === source) {
        await fill(context, source);
      }
    });
  }
}

async function fill(context: ContainerContext, source: Container): Promise<void> {
  const { mounts, rootfs, volumes, clock } = context;
  const wanted = volumeMounts(source.spec).filter(({ noCopy }) => !noCopy);
  if (wanted.length === 0) {
    return;
  }
  await ensureVolumes(context, source.spec);
  const layout = rootfs.layout(source.id, source.layerIds);
  failpoint('containers.create.fill-source');
  try {
    await mounts.overlay(layout, { readonly: false });
    for (const { name, destination } of wanted) {
      await volumes.populate(name, layout.merged, destination);
    }
  } finally {
    await persistently(clock, () => mounts.unmount(layout.merged));
  }
}

/** A container that is being removed may take its volumes along: call it in the tick that stores the new container. */
export function refuseRemovedSources({ registry }: ContainerContext, sources: readonly Container[]): void {
  for (const source of sources) {
    if (registry.get(source.id) !== source) {
      throw invalidArgument(`No such container: ${source.name} (VolumesFrom)`);
    }
    if (source.state.status === 'removing') {
      throw conflict(`VolumesFrom: container ${source.id} is being removed`);
    }
  }
}
