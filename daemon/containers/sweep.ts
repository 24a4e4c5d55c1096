import type { Container } from './container.ts';
import { failpoint } from '../base/failpoint.ts';
import type { ContainerContext } from './context.ts';
import { containerFiles, containersDirectory } from './paths.ts';
import { isLive } from './state-facts.ts';

/**
 * Takes away what a daemon that died left of containers that do not run: half-created processes and cgroups, mounts,
 * directories without a row. Nothing is looked up in a journal: what is ours carries a container's id. `spared` are
 * ids of rows that could not be read.
 */
export async function sweep(context: ContainerContext, spared: ReadonlySet<string>): Promise<void> {
  const { log } = context;
  const attempt = async (step: string, object: string, action: () => Promise<void>): Promise<void> => {
    try {
      await action();
      log.info({ step, object }, 'swept what a daemon left behind');
    } catch (error) {
      log.error({ step, object, err: error }, 'sweep left something behind');
    }
  };
  await sweepRuntime(context, attempt);
  await sweepMounts(context, attempt);
  await sweepDirectories(context, spared, attempt);
}

type Attempt = (step: string, object: string, action: () => Promise<void>) => Promise<void>;

async function sweepRuntime({ runtime, mutex, registry }: ContainerContext, attempt: Attempt): Promise<void> {
  for (const id of await runtime.leftovers()) {
    if (!isRunning(registry.get(id))) {
      await attempt('runtime', id, () =>
        mutex.run(id, async () => {
          await runtime.killAll(id);
          await runtime.cleanUp(id);
          runtime.forgetExit(id);
        }),
      );
    }
  }
}

async function sweepMounts(
  { mounts, rootfs, registry, dataRoot }: ContainerContext,
  attempt: Attempt,
): Promise<void> {
  const kept = new Set(
    registry
      .all()
      .filter(isRunning)
      .flatMap(({ id, layerIds }) => [
        rootfs.layout(id, layerIds).merged,
        containerFiles(dataRoot, id).sharedMemory,
      ]),
  );
  for (const path of mounts.below(containersDirectory(dataRoot))) {
    if (!kept.has(path)) {
      await attempt('mount', path, () => mounts.unmount(path));
    }
  }
}

function isRunning(container: Container | undefined): boolean {
  return container !== undefined && isLive(container.state);
}

async function sweepDirectories(
  { rootfs, registry, log }: ContainerContext,
  spared: ReadonlySet<string>,
  attempt: Attempt,
): Promise<void> {
  for (const id of await rootfs.list()) {
    if (registry.get(id) === undefined && !spared.has(id)) {
      await attempt('rootfs', id, async () => {
        failpoint('containers.sweep.directory');
        const directory = await rootfs.clearStray(id);
        if (directory !== undefined) {
          log.warn(
            { container: id, directory },
            'files of a container without a record were moved out of the way',
          );
        }
      });
    }
  }
}
