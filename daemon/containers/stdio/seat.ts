import { endOfLog } from '../../../storage/logs/segments.ts';
import { limits } from '../../base/limits.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { within } from '../lifecycle/delay.ts';
import { containerFiles } from '../resources/paths.ts';
import { isLive } from '../state/state-facts.ts';
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
    container.attached.add(seat);
    try {
      seat.connect(await joinRun(context, container, seat));
    } catch (error) {
      giveUpSeat(container, seat);
      throw error;
    }
  } else {
    container.pendingAttaches.add(seat);
  }
  return seat;
}

/** The client has all it is owed, or is gone. Safe to call more than once. */
export function giveUpSeat(container: Container, seat: PendingAttach): void {
  container.pendingAttaches.delete(seat);
  container.attached.delete(seat);
  seat.leave();
}

/** At start, before the command can write its first byte: everybody who waits is connected. Never rejects. */
export async function seatPendingClients(context: ContainerContext, container: Container): Promise<void> {
  const seats = [...container.pendingAttaches];
  container.pendingAttaches.clear();
  await Promise.all(
    seats.map(async (seat) => {
      container.attached.add(seat);
      try {
        seat.connect(await joinRun(context, container, seat));
      } catch (error) {
        // One client's bad luck does not keep the container from starting.
        giveUpSeat(container, seat);
        context.log.warn({ container: container.id, err: error }, 'a client could not be attached');
      }
    }),
  );
}

/** The run that clients wait for does not come: their conversations end, as with dockerd. */
export function dismissPendingClients(container: Container): void {
  for (const seat of container.pendingAttaches) {
    seat.cancel();
  }
  container.pendingAttaches.clear();
}

/**
 * Resolves when the clients of the run that has ended have all it wrote. One that does not read is not waited for
 * longer than `limits.attachDeliveryMs`.
 */
export async function outputIsHandedOver(
  { clock }: ContainerContext,
  { attached }: Container,
): Promise<void> {
  if (attached.size > 0) {
    const all = Promise.all([...attached].map((seat) => seat.left));
    await within(clock, all, limits.attachDeliveryMs);
  }
}

async function joinRun(
  { runtime, waiters }: ContainerContext,
  container: Container,
  { stdin }: PendingAttach,
): Promise<AttachedRun> {
  const over = waiters.wait(container.id, container.state, 'run-over');
  const run: AttachedRun = { channel: undefined, over };
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
