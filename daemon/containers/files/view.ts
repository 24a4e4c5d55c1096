import { constants, openSync } from 'node:fs';
import { canonicalPath } from '../../../storage/files/path-handle.ts';
import type { FilesView, ViewMount } from '../../../storage/files/view.ts';
import { toBytes, toText } from '../../../storage/files/view.ts';
import type { RootfsLayout } from '../../../storage/layers/rootfs.ts';
import { conflict, errnoOf, ifThere, internal, isEngineError, EngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { OPEN_PATH, OpenFile, openRoot } from '../../base/kernel/files/safepath.ts';
import type { ProcessIdentity } from '../../base/kernel/processes/process.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { liveRun } from '../state/state-facts.ts';
import { imageMounts } from '../resources/image-mounts.ts';
import { openImage, openSubpath, subpathMounts } from '../resources/pinned-sources.ts';
import { fillVolumes, makeBindSources, volumeNames } from '../resources/volumes.ts';
import type { OciMount } from '../../../runtime/runc/spec-types.ts';
import { ownMounts } from '../oci/mounts.ts';
import { containerFiles } from '../resources/container-files.ts';
import { networkOwnerId } from '../resources/namespace-owner.ts';

/**
 * Opens a container's files as it sees them.
 *
 * A running container: `/proc/<pid>/root`, with its mount namespace held open so that its end in the middle of a copy
 * does not uncover what lies below its volumes. The kernel crosses its mounts, tmpfs and those it made itself included.
 *
 * One that does not run has no mounts, and none are made for it: its overlay is mounted out of sight (nothing to sweep
 * after a crash, nothing for others to hold), and volumes, binds and the engine's files in /etc are a table that
 * `locate` and the tree walks look into. To read, the overlay is made of all its layers as lower ones, so that a start
 * meanwhile is not held up and finds nothing of it; to write, it is the real one, under the container's mutex.
 */
export class OpenView implements Disposable {
  readonly view: FilesView;
  readonly #files: readonly OpenFile[];

  constructor(view: FilesView, files: readonly OpenFile[]) {
    this.view = view;
    this.#files = files;
  }

  /** Closes it on a pool thread: what was written to is put on the disk by its last close. */
  async close(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.closeOnPool()));
  }

  [Symbol.dispose](): void {
    closeAll(this.#files);
  }
}

/** Throws conflict when the process has just ended. */
export function openLiveView(
  context: ContainerContext,
  { id }: Container,
  process: ProcessIdentity,
): OpenView {
  const files: OpenFile[] = [];
  try {
    const namespace = openSync(`/proc/${process.pid}/ns/mnt`, constants.O_RDONLY);
    files.push(new OpenFile(namespace));
    const root = openRoot(`/proc/${process.pid}/root`);
    files.push(root);
    if (context.isAlive(process)) {
      return new OpenView({ root: root.fd, isReadOnly: false, mounts: [], empty: root.fd }, files);
    }
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ESRCH') {
      closeAll(files);
      throw internal(`open the files of container ${id}`, { cause: error });
    }
  }
  closeAll(files);
  throw conflict(`container ${id} ended meanwhile, try again`);
}

/** For reading, of a container that does not run. Under its mutex; what is returned is used without. */
export async function openRestingView(context: ContainerContext, container: Container): Promise<OpenView> {
  await context.turns.next();
  failpoint('containers.files.view');
  const layout = layoutOf(context, container);
  const root = context.mounts.hiddenView([layout.upper, ...layout.lowers]);
  return await complete(context, container, { root, layout });
}

/** For writing, of a container that does not run. Under its mutex until it is closed, which may take a while. */
export async function openWritableView(context: ContainerContext, container: Container): Promise<OpenView> {
  await context.turns.next();
  failpoint('containers.files.write');
  await makeBindSources(container.spec);
  const layout = layoutOf(context, container);
  const root = context.mounts.hiddenOverlay(layout);
  return await complete(context, container, { root, layout });
}

/** The process of a container that runs now, paused or not. */
export function liveProcess({ state }: Container): ProcessIdentity | undefined {
  return liveRun(state)?.process;
}

function layoutOf({ rootfs }: ContainerContext, { id, layerIds }: Container): RootfsLayout {
  return rootfs.layout(id, layerIds);
}

async function complete(
  context: ContainerContext,
  container: Container,
  { root, layout }: { root: OpenFile; layout: RootfsLayout },
): Promise<OpenView> {
  const { volumes } = context;
  const files = [root];
  const names = volumeNames(container);
  const holder = `view of ${container.id}`;
  try {
    // As a start would, so that what is copied in does not keep a volume from being filled from the image.
    await fillVolumes(context, container, root.path);
    for (const name of names) {
      context.volumePaths.set(name, await volumes.acquire(name, holder));
    }
    const empty = openRoot(layout.merged);
    files.push(empty);
    const isReadOnly = container.spec.hostConfig.ReadonlyRootfs;
    const bare: FilesView = { root: root.fd, isReadOnly, mounts: [], empty: empty.fd };
    return new OpenView({ ...bare, mounts: openMounts(context, container, bare, files) }, files);
  } catch (error) {
    closeAll(files);
    throw error;
  } finally {
    // What is open now stays as it is.
    for (const name of names) {
      await volumes.release(name, holder);
    }
  }
}

/** The binds of the container's own configuration, each where it would be mounted. */
function openMounts(
  context: ContainerContext,
  container: Container,
  bare: FilesView,
  files: OpenFile[],
): ViewMount[] {
  const mounts: ViewMount[] = [];
  const pinnedSources = openSources(context, container, files);
  for (const { destination, type, source, options = [] } of containerMounts(
    context,
    container,
    pinnedSources,
  )) {
    if (type !== 'bind' || source === undefined) {
      continue;
    }
    const file = openSource(source);
    if (file !== undefined) {
      files.push(file);
      const path = canonicalPath({ ...bare, mounts }, toBytes(destination));
      mounts.push({ path, fd: file.fd, isReadOnly: options.includes('ro') || options.includes('rro') });
    }
  }
  return mounts;
}

/** Parts of volumes, and images, by names of descriptors. What cannot be mounted is not there for a copy either. */
function openSources(
  context: ContainerContext,
  container: Container,
  files: OpenFile[],
): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  const add = (destination: string, open: () => OpenFile): void => {
    try {
      const file = open();
      files.push(file);
      paths.set(destination, file.path);
    } catch (error) {
      if (!isEngineError(error, 'not_found') && !isEngineError(error, 'invalid_argument')) {
        throw error;
      }
    }
  };
  for (const mount of subpathMounts(container)) {
    add(mount.destination, () => openSubpath(context, mount));
  }
  const { merged } = layoutOf(context, container);
  for (const mount of imageMounts(container)) {
    add(mount.destination, () => openImage(context, mount, merged));
  }
  return paths;
}

/** SAFETY: a path of the engine's, or a path of the host that the client chose at creation. */
function openSource(source: string): OpenFile | undefined {
  // The first start makes it.
  return ifThere(() => new OpenFile(openSync(source, OPEN_PATH)), ['ENOENT', 'ENOTDIR']);
}

function closeAll(files: readonly OpenFile[]): void {
  files.forEach((file) => file[Symbol.dispose]());
}

/** Volumes, binds, tmpfs and the engine's files in /etc, as a start would mount them; parents before children. */
function containerMounts(
  context: ContainerContext,
  container: Container,
  pinnedSources: ReadonlyMap<string, string>,
): OciMount[] {
  const { dataRoot, volumePaths, facts } = context;
  // With another container's network its names come too.
  const files = containerFiles(dataRoot, networkOwnerId(context, container));
  const { spec } = container;
  // What nothing shows is in memory for the container's processes alone: a copy finds empty places.
  const mounts = spec.mounts.filter((mount) => mount.type !== 'bind' || mount.isHidden !== true);
  return ownMounts(
    { ...spec, mounts },
    {
      files,
      volumePaths,
      pinnedSources,
      recursiveReadOnly: facts.recursiveReadOnly,
    },
  );
}

/** Throws dockerd's texts when the configuration says that nothing may be written at `path` (without links, bytes). */
export function refuseReadOnlyPath(context: ContainerContext, container: Container, path: string): void {
  const text = toText(path);
  const mount = containerMounts(context, container, new Map()).findLast(
    ({ destination }) => text === destination || text.startsWith(`${destination}/`),
  );
  if (mount === undefined && container.spec.hostConfig.ReadonlyRootfs) {
    throw new EngineError('forbidden', 'container rootfs is marked read-only');
  }
  if (mount?.options?.some((option) => option === 'ro' || option === 'rro') === true) {
    throw new EngineError('forbidden', 'mounted volume is marked read-only');
  }
}
