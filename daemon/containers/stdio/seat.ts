import { endOfLog } from '../../../storage/logs/segments.ts';
import type { Container } from '../container.ts';
import type { ContainerContext } from '../context.ts';
import { containerFiles } from '../paths.ts';
import { isLive } from '../state-facts.ts';
import { leaveRun, PendingAttach } from './pending-attach.ts';
import type { AttachedRun } from './pending-attach.ts';

/** Gives a client its place at a container's stdio: now when it runs, else at its next start. */
export async function takeSeat(
  context: ContainerContext,
  container: Container,
  options: { stdin: boolean; fromBeginning: boolean },
): Promise<PendingAttach> {
  const seat = new PendingAttach({
    stdin: options.stdin && (container.spec.config.OpenStdin ?? false),
    logFrom: options.fromBeginning ? undefined : endOfLog(containerFiles(context.dataRoot, container.id).log),
  });
  if (isLive(container.state)) {
    seat.connect(await joinRun(context, container, seat));
  } else {
    container.pendingAttaches.add(seat);
  }
  return seat;
}

/** At start, before the command can write its first byte: everybody who waits is connected. Never rejects. */
export async function seatPendingClients(context: ContainerContext, container: Container): Promise<void> {
  const seats = [...container.pendingAttaches];
  container.pendingAttaches.clear();
  await Promise.all(
    seats.map(async (seat) => {
      try {
        seat.connect(await joinRun(context, container, seat));
      } catch (error) {
        // One client's bad luck does not keep the container from starting.
        seat.cancel();
        context.log.warn({ container: container.id, err: error }, 'a client could not be attached');
      }
    }),
  );
}

async function joinRun(
  { runtime, waiters }: ContainerContext,
  container: Container,
  { stdin, logFrom }: PendingAttach,
): Promise<AttachedRun> {
  const over = waiters.wait(container.id, container.state, 'run-over');
  const run: AttachedRun = { channel: undefined, logFrom, over };
  try {
    // Output is read from the log: a client that does not read must not hold up the container.
    if (stdin || container.spec.logDriver === 'none') {
      run.channel = await runtime.attach(container.id, { stdin });
    }
    return run;
  } catch (error) {
    leaveRun(run);
    throw error;
  }
}
