import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { conflict } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { OpenFile } from '../../base/kernel/files/safepath.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { liveProcess } from './view.ts';
import { refuseRemoved } from './open.ts';

/** The container's root file system as one tar: its layers and its own, without volumes, binds and other mounts. */
export async function exportContainer(context: ContainerContext, ref: string): Promise<Readable> {
  const container = context.registry.find(ref);
  const { id, state } = container;
  if (state.status === 'dead') {
    throw conflict(`You cannot export container ${id} which is Dead`);
  }
  if (state.status === 'removing') {
    throw conflict(`You cannot export container ${id} which is being removed`);
  }
  const root = await openBareRoot(context, container);
  try {
    failpoint('containers.export.begin');
    context.machine.noteEvent(containerEvent(container, 'export'));
    const view = { root: root.fd, isReadOnly: true, mounts: [], empty: root.fd };
    return context.archives.tar({ view, handle: { fd: root.fd, path: '' } }, () => root[Symbol.dispose]());
  } catch (error) {
    root[Symbol.dispose]();
    throw error;
  }
}

/**
 * The same of a step of a build whose command has ended, while its run is given back: nobody writes to it any more.
 * Undefined once its mount has gone, and of other containers.
 */
export function openEndedRoot(context: ContainerContext, container: Container): OpenFile | undefined {
  if (container.spec.ofBuild !== 'removed' || liveProcess(container) !== undefined) {
    return undefined;
  }
  const { merged } = context.rootfs.layout(container.id, container.layerIds);
  let root: OpenFile;
  try {
    root = context.mounts.hiddenCopy(merged);
  } catch (error) {
    context.log.debug({ container: container.id, err: error }, 'the root of an ended step is not mounted');
    return undefined;
  }
  // It is mounted once only: where it still is, it was when the copy was made.
  if (isMountPoint(merged)) {
    return root;
  }
  root[Symbol.dispose]();
  return undefined;
}

function isMountPoint(path: string): boolean {
  const here = statSync(path, { throwIfNoEntry: false });
  return here !== undefined && here.dev !== statSync(dirname(path)).dev;
}

/**
 * The container's root without what is mounted in it, to be read. Of a running one it is the mount that it has; of
 * another one it is made of its layers, so that a start meanwhile need not wait.
 */
export function openBareRoot(context: ContainerContext, container: Container): Promise<OpenFile> {
  return context.mutex.run(container.id, async () => {
    await context.turns.next();
    refuseRemoved(context, container);
    const { lowers, upper, merged } = context.rootfs.layout(container.id, container.layerIds);
    failpoint('containers.files.root');
    return liveProcess(container) === undefined
      ? context.mounts.hiddenView([upper, ...lowers])
      : context.mounts.hiddenCopy(merged);
  });
}
