import { mkdir } from 'node:fs/promises';
import type { MountPoint } from '../../../api/types/container.ts';
import { errorText, internal, unreachable } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Rollback } from '../../base/rollback.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { together } from '../../base/concurrency/timeout.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import type { ResolvedMount, VolumeMount } from '../request/mounts/resolved-mount.ts';

/** The volumes of a specification. */
export function volumeMounts(spec: ContainerSpec): VolumeMount[] {
  return spec.mounts.filter((mount): mount is VolumeMount => mount.type === 'volume');
}

/** Names of the volumes a container uses, each once. */
export function volumeNames({ spec }: Pick<Container, 'spec'>): string[] {
  return [...new Set(volumeMounts(spec).map(({ name }) => name))];
}

/** Names of those that were made for this container alone. */
export function anonymousVolumes({ spec }: Pick<Container, 'spec'>): string[] {
  return volumeMounts(spec)
    .filter(({ anonymous }) => anonymous)
    .map(({ name }) => name);
}

/** Makes the volumes that do not exist yet: for a container that has a row, they may have been removed meanwhile. */
export async function ensureVolumes(context: ContainerContext, spec: ContainerSpec): Promise<void> {
  await together(
    ...volumeMounts(spec).map(async (mount) => {
      await ensureVolume(context, mount);
    }),
  );
}

/**
 * The volumes of a container that is being created; the rollback takes away those it made. What is returned stores the
 * anonymous ones, which only the container's row names: call it in the same transaction.
 */
export async function makeVolumes(
  context: ContainerContext,
  spec: ContainerSpec,
  rollback: Rollback,
): Promise<() => void> {
  const { volumes, volumePaths } = context;
  const stores = await together(
    ...volumeMounts(spec).map(async (mount) => {
      const { name, anonymous, driver, driverOptions: driverOpts, labels } = mount;
      if (!anonymous) {
        if (await ensureVolume(context, mount)) {
          rollback.defer(`remove volume ${name}`, () => volumes.remove(name, { force: true }));
        }
        return () => undefined;
      }
      const reserved = await volumes.reserveAnonymous(name, { driver, driverOpts, labels });
      rollback.defer(`remove volume ${name}`, () => reserved.undo());
      volumePaths.set(name, reserved.mountpoint);
      return () => reserved.store();
    }),
  );
  return () => stores.forEach((store) => store());
}

/** True when it was made now. */
async function ensureVolume(
  { volumes, volumePaths }: ContainerContext,
  mount: VolumeMount,
): Promise<boolean> {
  const { name, anonymous, driver, driverOptions: driverOpts, labels } = mount;
  const { mountpoint, created } = await volumes.ensure(name, { driver, driverOpts, labels, anonymous });
  volumePaths.set(name, mountpoint);
  return created;
}

/** At start, with the root mounted: volumes exist and are filled, sources of binds exist, users are noted. */
export async function prepareVolumes(
  context: ContainerContext,
  container: Container,
  rootPath: string,
  rollback: Rollback,
): Promise<void> {
  const { volumes, volumePaths } = context;
  const { id, spec } = container;
  if (spec.mounts.length === 0) {
    return;
  }
  failpoint('containers.start.volumes');
  await together(ensureVolumes(context, spec), makeBindSources(spec));
  // One after the other: a volume mounted at two places is filled from the first.
  for (const { name, destination, rw, noCopy } of volumeMounts(spec)) {
    rollback.defer(`release volume ${name}`, () => volumes.release(name, id));
    volumePaths.set(name, await volumes.acquire(name, id));
    if (!noCopy) {
      await volumes.populate(name, rootPath, destination);
    }
    volumes.mounted(name, id, { destination, readWrite: rw, propagation: '' });
    rollback.defer(`tell of volume ${name}`, () => volumes.unmounted(name, id));
  }
}

/** Volumes exist and hold what the image has there, as after a start. `rootPath`: the container's root without them. */
export async function fillVolumes(
  context: ContainerContext,
  { spec }: Container,
  rootPath: string,
): Promise<void> {
  await ensureVolumes(context, spec);
  for (const { name, destination, noCopy } of volumeMounts(spec)) {
    if (!noCopy) {
      await context.volumes.populate(name, rootPath, destination);
    }
  }
}

/** Binds always made a missing source a directory; Mounts only when asked. The client may do so: it is root's equal. */
export async function makeBindSources(spec: ContainerSpec): Promise<void> {
  for (const mount of spec.mounts) {
    if (mount.type === 'bind' && mount.createMountpoint) {
      try {
        await mkdir(mount.source, { recursive: true });
      } catch (error) {
        // EEXIST: it is there and no directory, a file for example, which is as good.
        if (!isAlreadyThere(error)) {
          throw internal(`error while creating mount source path '${mount.source}': ${errorText(error)}`, {
            cause: error,
          });
        }
      }
    }
  }
}

function isAlreadyThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** What inspect and list show under Mounts. */
export function mountPoints(
  context: Pick<ContainerContext, 'volumes' | 'volumePaths'>,
  container: Pick<Container, 'spec'>,
): MountPoint[] {
  return container.spec.mounts.flatMap((mount) => {
    const point = mountPoint(mount, context);
    return point === undefined ? [] : [point];
  });
}

function mountPoint(
  mount: ResolvedMount,
  { volumes, volumePaths }: Pick<ContainerContext, 'volumes' | 'volumePaths'>,
): MountPoint | undefined {
  const { destination: Destination, mode: Mode, rw: RW } = mount;
  switch (mount.type) {
    case 'bind':
      return mount.isHidden
        ? undefined
        : { Type: 'bind', Source: mount.source, Destination, Mode, RW, Propagation: mount.propagation };
    case 'volume':
      return {
        Type: 'volume',
        Name: mount.name,
        Source: volumePaths.get(mount.name) ?? '',
        Destination,
        Driver: volumes.driverOf(mount.name) ?? mount.driver,
        Mode,
        RW,
        Propagation: '',
      };
    case 'image':
      return {
        Type: 'image',
        Name: mount.image,
        Source: mount.imageId,
        Destination,
        Mode,
        RW,
        Propagation: '',
      };
    case 'tmpfs':
      return mount.isHidden
        ? undefined
        : { Type: 'tmpfs', Source: '', Destination, Mode, RW, Propagation: '' };
    default:
      return unreachable(mount);
  }
}
