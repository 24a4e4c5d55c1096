import { failpoint } from '../../base/failpoint.ts';
import { persistently } from '../../base/concurrency/retry.ts';
import type { Sandbox } from '../../networks/sandbox/sandbox.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { releaseHubToken } from '../resources/hub-token.ts';
import { releaseSharedMemory } from '../resources/shared-memory.ts';
import { volumeNames } from '../resources/volumes.ts';

/**
 * Releases the run that has ended, if that has not been done yet. Under the container's mutex; call it before anything
 * is made or unmade for the container: a start on top of an old run would be taken away with it.
 */
export async function releaseEnded(container: Container): Promise<void> {
  const release = container.pendingRelease;
  container.pendingRelease = undefined;
  await release?.();
}

/**
 * Gives back what a run used: network, mounts, what the runtime keeps. Call it under the container's mutex. Every step
 * is taken whatever became of the others; what fails is logged and found again by the sweep of the next start.
 */
export async function releaseContainer(
  context: ContainerContext,
  container: Container,
  sandbox: Sandbox | undefined,
): Promise<void> {
  await context.turns.next();
  const { runtime, networks, mounts, rootfs, volumes, clock, log } = context;
  const { id } = container;
  const step = async (name: string, action: () => void | Promise<void>): Promise<void> => {
    try {
      await persistently(clock, action);
    } catch (error) {
      log.error({ container: id, step: name, err: error }, 'release step left something behind');
    }
  };
  await Promise.all([
    step('network', async () => {
      failpoint('containers.exit.release');
      // With `container:` the namespace is another's and stays.
      if (sandbox === undefined || sandbox.ownerId === id) {
        await networks.close(id, sandbox);
      }
    }),
    step('rootfs', () => mounts.unmount(rootfs.layout(id, container.layerIds).merged)),
    step('shared memory', () => releaseSharedMemory(context, container)),
    step('hub token', () => releaseHubToken(context, container)),
    step('runtime', () => runtime.cleanUp(id)),
  ]);
  for (const name of volumeNames(container)) {
    await step('volume', () => volumes.release(name, id));
    await step('volume event', () => volumes.unmounted(name, id));
  }
  failpoint('containers.exit.released');
}
