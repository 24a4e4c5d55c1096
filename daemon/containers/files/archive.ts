import type { Readable } from 'node:stream';
import type { PathStat } from '../../../api/types/container.ts';
import type { PutArchiveOptions } from '../../../api/types/ports.ts';
import { refuseExtractionPoint } from '../../../storage/files/refusals.ts';
import type { FilesView } from '../../../storage/files/view.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { readAccountFiles, resolveUser } from '../oci/user.ts';
import { refuseReadOnlyPath, liveProcess, openWritableView } from './view.ts';
import { liveView, openReadView, refuseRemoved } from './open.ts';
import { locateResource, resourcePath, statOf } from './resource.ts';

/** HEAD of the archive: what `path` is, a link at its end not followed. */
export async function statContainerPath(
  context: ContainerContext,
  ref: string,
  path: string,
): Promise<PathStat> {
  const container = context.registry.find(ref);
  const resource = resourcePath(path);
  using open = await openReadView(context, container);
  using handle = locateResource(open.view, resource, { container: ref, path });
  return statOf(open.view, resource, handle);
}

/**
 * A file, or a directory with all below it, as a tar whose names begin with the last component of `path`. What a
 * container mounts in it is there too, but the kernel's file systems and /dev are empty directories.
 */
export async function getContainerArchive(
  context: ContainerContext,
  ref: string,
  path: string,
): Promise<{ stat: PathStat; tar: Readable }> {
  const container = context.registry.find(ref);
  const resource = resourcePath(path);
  const open = await openReadView(context, container);
  try {
    const handle = locateResource(open.view, resource, { container: ref, path });
    const close = (): void => {
      handle[Symbol.dispose]();
      open[Symbol.dispose]();
    };
    try {
      const stat = statOf(open.view, resource, handle);
      const name = resource.base;
      failpoint('containers.archive.get');
      context.machine.noteEvent(containerEvent(container, 'archive-path'));
      const request = { view: open.view, handle: { fd: handle.fd, path: handle.path }, name };
      return { stat, tar: context.archives.tar(request, close) };
    } catch (error) {
      handle[Symbol.dispose]();
      throw error;
    }
  } catch (error) {
    open[Symbol.dispose]();
    throw error;
  }
}

/**
 * Unpacks a tar (plain or compressed) into the directory `path`. All of it is received and decompressed before
 * anything of the container's is looked at for writing: a client that stalls holds nothing up, one that leaves half-way
 * has changed nothing, and no program runs while the container could interfere.
 */
export async function putContainerArchive(
  context: ContainerContext,
  ref: string,
  path: string,
  body: Readable,
  options: PutArchiveOptions,
): Promise<void> {
  const container = context.registry.find(ref);
  const put = new Put(context, container, { ref, path }, options);
  await put.check();
  failpoint('containers.archive.spool');
  const what = `copy to ${path} in container ${ref}`;
  await using tar = await context.tarSpools.spool(body, { what, signal: options.signal });
  await put.extract(tar);
  failpoint('containers.archive.put');
  context.machine.noteEvent(containerEvent(container, 'extract-to-dir'));
}

class Put {
  readonly #context: ContainerContext;
  readonly #container: Container;
  readonly #asked: { ref: string; path: string };
  readonly #options: PutArchiveOptions;

  constructor(
    context: ContainerContext,
    container: Container,
    asked: { ref: string; path: string },
    options: PutArchiveOptions,
  ) {
    this.#context = context;
    this.#container = container;
    this.#asked = asked;
    this.#options = options;
  }

  /** What can be said before the client has sent anything. */
  async check(): Promise<void> {
    using open = await openReadView(this.#context, this.#container);
    this.#checkPoint(open.view);
  }

  /** Whatever the container does by now: it may have been started or have ended while the client was sending. */
  async extract(tar: { fd: number; size: number }): Promise<void> {
    let isDone = false;
    while (!isDone) {
      const live = await liveView(this.#context, this.#container);
      if (live === undefined) {
        isDone = await new Promise<boolean>((resolve, reject) => {
          this.#extractAtRest(tar, resolve).catch(reject);
        });
      } else {
        using open = live;
        await this.#into(open.view, tar);
        isDone = true;
      }
    }
  }

  /**
   * `answer` is called with true as soon as the files are there, with false when the container runs. The mutex is kept
   * until the disk has them as well.
   */
  async #extractAtRest(tar: { fd: number; size: number }, answer: (isDone: boolean) => void): Promise<void> {
    await this.#context.mutex.run(this.#container.id, async () => {
      refuseRemoved(this.#context, this.#container);
      if (liveProcess(this.#container) !== undefined) {
        answer(false);
        return;
      }
      const open = await openWritableView(this.#context, this.#container);
      try {
        await this.#into(open.view, tar);
        answer(true);
      } finally {
        await open.close();
      }
    });
  }

  async #into(view: FilesView, tar: { fd: number; size: number }): Promise<void> {
    const point = this.#checkPoint(view);
    const { path } = this.#asked;
    const { copyUIDGID, noOverwriteDirNonDir, signal } = this.#options;
    const user = this.#container.spec.config.User ?? '';
    const owner = copyUIDGID && user !== '' ? resolveUser(user, readAccountFiles(view.root)) : undefined;
    await this.#context.archives.extract(
      {
        tar: { fd: tar.fd, size: tar.size },
        view,
        path: point,
        keepsKinds: noOverwriteDirNonDir && 'archive',
        ...(owner && { owner: { uid: owner.uid, gid: owner.gid } }),
        what: `copy to ${path} in container ${this.#asked.ref}`,
      },
      signal,
    );
  }

  /** The directory's path without links. */
  #checkPoint(view: FilesView): string {
    const { ref, path } = this.#asked;
    using point = locateResource(view, resourcePath(path), { container: ref, path, followLast: true });
    refuseExtractionPoint(point);
    refuseReadOnlyPath(this.#context, this.#container, point.path);
    return point.path;
  }
}
