import { endOfLog } from '../../../storage/logs/segments.ts';
import { isLogDiskFull } from '../../../storage/logs/room.ts';
import { limits } from '../../base/limits.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { containerFiles } from '../resources/container-files.ts';
import { isLive } from '../state/state-facts.ts';
import { leaveRun, PendingAttach } from './pending-attach.ts';
import type { AttachedRun } from './pending-attach.ts';

/** Gives a client its place at a container's stdio: now when it runs, else at its next start. */
export async function openAttachSlot(
  context: ContainerContext,
  container: Container,
  options: { stdin: boolean; fromBeginning: boolean },
): Promise<PendingAttach> {
  const slot = new PendingAttach({
    stdin: options.stdin && (container.spec.config.OpenStdin ?? false),
    logFrom: options.fromBeginning ? undefined : endOfLog(containerFiles(context.dataRoot, container.id).log),
  });
  if (isLive(container.state)) {
    await connect(context, container, slot);
  } else {
    container.pendingAttaches.add(slot);
  }
  return slot;
}

/** The client has all it is owed, or is gone. Safe to call more than once. */
export function closeAttachSlot(container: Container, slot: PendingAttach): void {
  container.pendingAttaches.delete(slot);
  container.attached.delete(slot);
  slot.leave();
}

/** At start, before the command can write its first byte: all waiting clients are connected. Never rejects. */
export async function connectPendingClients(context: ContainerContext, container: Container): Promise<void> {
  const slots = [...container.pendingAttaches];
  container.pendingAttaches.clear();
  await Promise.all(
    slots.map(async (slot) => {
      try {
        await connect(context, container, slot);
      } catch (error) {
        // One client's bad luck does not keep the container from starting.
        context.log.warn({ container: container.id, err: error }, 'a client could not be attached');
      }
    }),
  );
}

async function connect(context: ContainerContext, container: Container, slot: PendingAttach): Promise<void> {
  container.attached.add(slot);
  try {
    slot.connect(await joinRun(context, container, slot));
  } catch (error) {
    closeAttachSlot(container, slot);
    throw error;
  }
}

/** The run that clients wait for does not come: their conversations end, as with dockerd. */
export function dismissPendingClients(container: Container): void {
  for (const slot of container.pendingAttaches) {
    slot.cancel();
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
    const all = Promise.all([...attached].map((slot) => slot.left));
    await withTimeout(clock, all, limits.attachDeliveryMs);
  }
}

async function joinRun(
  { runtime, waiters, dataRoot }: ContainerContext,
  container: Container,
  { stdin }: PendingAttach,
): Promise<AttachedRun> {
  const over = waiters.wait(container.id, container.state, 'run-over');
  const run: AttachedRun = { channel: undefined, over };
  try {
    // Output is read from the log: a client that does not read must not hold up the container. A full disk takes none.
    if (
      stdin ||
      container.spec.logDriver === 'none' ||
      isLogDiskFull(containerFiles(dataRoot, container.id).log)
    ) {
      run.channel = await runtime.attach(container.id, { stdin });
    }
    return run;
  } catch (error) {
    leaveRun(run);
    throw error;
  }
}
