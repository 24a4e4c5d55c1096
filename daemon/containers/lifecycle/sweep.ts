import { relative } from 'node:path';
import { failpoint } from '../../base/failpoint.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerFiles, containersDirectory } from '../resources/container-files.ts';
import { isLive } from '../state/state-facts.ts';

/** What was there before this daemon made anything, and may have no owner. */
export interface Leftovers {
  /** Containers of which the runtime has something. */
  runtime: readonly string[];
  /** Mount points below the containers' directory. */
  mounts: readonly string[];
  /** Directories of containers without a row. */
  directories: readonly string[];
}

/** Before the first verb runs: what these make is never among it. `unreadable`: ids of rows that could not be read. */
export async function findLeftovers(
  { runtime, mounts, rootfs, registry, dataRoot }: ContainerContext,
  unreadable: ReadonlySet<string>,
): Promise<Leftovers> {
  const directories = await rootfs.list();
  return {
    runtime: await runtime.leftovers(),
    mounts: mounts.below(containersDirectory(dataRoot)),
    directories: directories.filter((id) => registry.get(id) === undefined && !unreadable.has(id)),
  };
}

/** True when something of the container's last run is among it. */
export function isLeftBy(context: ContainerContext, container: Container, found: Leftovers): boolean {
  const own = ownMounts(context, container);
  return found.runtime.includes(container.id) || found.mounts.some((path) => own.includes(path));
}

/** What a run mounts below the container's directory. */
function ownMounts({ rootfs, dataRoot }: ContainerContext, { id, layerIds }: Container): string[] {
  const { sharedMemory, hubToken } = containerFiles(dataRoot, id);
  return [rootfs.layout(id, layerIds).merged, sharedMemory, hubToken];
}

/**
 * Takes away what a daemon that died left of containers that do not run: half-created processes and cgroups, mounts,
 * directories without a row. Nothing is looked up in a journal: what is ours carries a container's id. Each container's
 * under its mutex and once it is restored, so that clients may be served meanwhile. Never rejects.
 */
export async function sweep(context: ContainerContext, found: Leftovers): Promise<void> {
  const { log } = context;
  const step = async (kind: string, object: string, action: () => Promise<void>): Promise<void> => {
    try {
      await action();
      log.info({ step: kind, object }, 'swept what a daemon left behind');
    } catch (error) {
      log.error({ step: kind, object, err: error }, 'sweep left something behind');
    }
  };
  await Promise.all(found.runtime.map((id) => sweepRuntime(context, step, id)));
  for (const path of found.mounts) {
    await sweepMount(context, step, path);
  }
  await sweepDirectories(context, step, found.directories);
}

type Step = (kind: string, object: string, action: () => Promise<void>) => Promise<void>;

async function sweepRuntime(context: ContainerContext, step: Step, id: string): Promise<void> {
  const { runtime } = context;
  await unlessRunning(context, id, () =>
    step('runtime', id, async () => {
      await runtime.killAll(id);
      await runtime.cleanUp(id);
      runtime.forgetExit(id);
    }),
  );
}

async function sweepMount(context: ContainerContext, step: Step, path: string): Promise<void> {
  const { mounts, registry, dataRoot } = context;
  const [id = ''] = relative(containersDirectory(dataRoot), path).split('/');
  const unmount = (): Promise<void> => step('mount', path, () => mounts.unmount(path));
  const container = registry.get(id);
  const isOfRun = container !== undefined && ownMounts(context, container).includes(path);
  // What is no mount of a run has no owner, whether or not the container runs.
  await (isOfRun ? unlessRunning(context, id, unmount) : unmount());
}

/** Under the container's mutex, which a start holds until its container runs. */
async function unlessRunning(
  { registry, restoring, mutex }: ContainerContext,
  id: string,
  action: () => Promise<void>,
): Promise<void> {
  await restoring.get(id);
  await mutex.run(id, async () => {
    const container = registry.get(id);
    if (container === undefined || !isLive(container.state)) {
      await action();
    }
  });
}

async function sweepDirectories(
  { rootfs, log }: ContainerContext,
  step: Step,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    await step('rootfs', id, async () => {
      failpoint('containers.sweep.directory');
      const directory = await rootfs.clearOrphan(id);
      if (directory !== undefined) {
        log.warn(
          { container: id, directory },
          'files of a container without a record were moved out of the way',
        );
      }
    });
  }
}
