import type { BuildProcess } from '../../../api/types/build/containers.ts';
import type { LayerContainer, NewLayerContainer } from '../../build/ports.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { BuilderContext } from './build.ts';
import { execProcess, firstProcess, processThatFailed } from './container-process.ts';
import { CommandFailedError, removeContainer, unstarted } from './run-command.ts';
import { stepRoot } from './step-root.ts';

/**
 * A container like that of a RUN, with a process that somebody talks to; it is there until it is removed. Where its
 * program cannot be executed, it is as if that had said so. Throws with nothing left.
 */
export async function openContainer(
  { images, containers }: Pick<BuilderContext, 'images' | 'containers'>,
  asked: NewLayerContainer,
): Promise<LayerContainer> {
  const { signal } = asked;
  const step = stepRoot(images, asked);
  const body = { ...asked.body, Image: step.root.id };
  failpoint('images.build.container');
  const { Id: id } = await containers.create(undefined, body, {
    signal,
    keepUntil: signal,
    ofBuild: 'removed',
    step,
  });
  const remove = async (): Promise<void> => {
    const progress = { say: () => undefined, output: () => undefined, room: () => Promise.resolve() };
    await removeContainer({ containers, images, progress }, id, { says: false });
  };
  const said: Buffer[] = [];
  try {
    const stdio = await containers.ownStdio(id, { stdin: body.OpenStdin === true });
    try {
      failpoint('images.build.container.start');
      await containers.start(id, {});
      const channel = await stdio.channel;
      const first = await firstProcess(containers, id, { channel, leave: () => stdio.leave() });
      return open(first, { containers, id, remove });
    } catch (error) {
      stdio.leave();
      throw unstarted(error, asked.command, (_stream, bytes) => said.push(bytes));
    }
  } catch (error) {
    if (error instanceof CommandFailedError) {
      return open(processThatFailed(Buffer.concat(said), error.exitCode), { containers, id, remove });
    }
    await remove();
    throw error;
  }
}

function open(
  first: BuildProcess,
  {
    containers,
    id,
    remove,
  }: Pick<BuilderContext, 'containers'> & { id: string; remove: () => Promise<void> },
): LayerContainer {
  return {
    first,
    exec: async (request) => {
      failpoint('images.build.container.exec');
      return execProcess(await containers.ownExec(id, request));
    },
    root: () => containers.rootOf(id),
    remove,
  };
}
