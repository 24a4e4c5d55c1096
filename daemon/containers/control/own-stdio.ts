import { failpoint } from '../../base/failpoint.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import type { OwnStdio } from '../stdio/process-streams.ts';
import { closeAttachSlot, openAttachSlot } from '../stdio/attach-slot.ts';
import { leaveRun } from '../stdio/pending-attach.ts';

/** Of the next run of a container that keeps no log. Not a byte of it is missed. */
export async function openOwnStdio(
  context: ContainerContext,
  container: Container,
  { stdin }: { stdin: boolean },
): Promise<OwnStdio> {
  failpoint('containers.stdio.open');
  const slot = await openAttachSlot(context, container, { stdin, fromBeginning: false });
  const leave = async (): Promise<void> => {
    closeAttachSlot(container, slot);
    const run = await slot.run;
    if (run !== undefined) {
      leaveRun(run);
    }
  };
  return {
    channel: slot.run.then((run) => run?.channel),
    leave: () => {
      void leave().catch((error: unknown) => {
        context.log.error({ container: container.id, err: error }, 'the stdio of a container is not left');
      });
    },
  };
}
