import type { Readable } from 'node:stream';
import { conflict } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { OpenFile } from '../../base/kernel/safepath.ts';
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
