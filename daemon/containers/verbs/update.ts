import { createHash } from 'node:crypto';
import type { ContainerUpdateRequest, ContainerUpdateResponse } from '../../../api/types/container.ts';
import type { LimitUpdate } from '../../../runtime/cgroups/limit-update.ts';
import { EngineError, conflict, errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { persistently } from '../../base/concurrency/retry.ts';
import { Rollback } from '../../base/rollback.ts';
import { knownBlockDevices, readBlockDevices } from '../oci/host-devices.ts';
import { limitChanges } from '../oci/resources.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { namingFields } from '../request/faulty-fields.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import { updateSpec } from '../request/update.ts';
import { isLive } from '../state/state-facts.ts';

/**
 * Gives a container other limits or another restart policy: at once when it runs, else from its next start. All of it
 * or, when it throws, nothing: invalid_argument and conflict with dockerd's texts, internal with what the kernel said.
 */
export async function updateContainer(
  context: ContainerContext,
  ref: string,
  request: ContainerUpdateRequest,
): Promise<ContainerUpdateResponse> {
  const { registry, mutex, machine, facts, log } = context;
  const container = registry.find(ref);
  return await mutex.run(container.id, async () => {
    refuseRemoved(context, container);
    const { spec, warnings } = decide(container, () =>
      namingFields(request, (asked) => updateSpec(container.spec, asked, facts)),
    );
    await using rollback = new Rollback(log, { container: container.id });
    const limits = await changeLimits(context, container, spec);
    rollback.defer('put the old limits back', () => limits?.undo());
    machine.respecify(container, spec, [containerEvent(container, 'update')]);
    rollback.commit();
    await keep(context, container, limits);
    return { Warnings: warnings };
  });
}

/** Names a specification: the same for two that are equal. */
export function specTag(spec: ContainerSpec): string {
  return createHash('sha256').update(JSON.stringify(spec)).digest('hex');
}

async function changeLimits(
  { runtime }: ContainerContext,
  container: Container,
  spec: ContainerSpec,
): Promise<LimitUpdate | undefined> {
  const before = container.spec.hostConfig;
  const after = spec.hostConfig;
  // A path that is no block device is told before anything is stored, also of a container that does not run.
  const devices = new Map([...knownBlockDevices(before), ...readBlockDevices(after)]);
  const changes = limitChanges(before, after, devices);
  if (!isLive(container.state) || Object.keys(changes).length === 0) {
    return undefined;
  }
  failpoint('containers.update.limits');
  try {
    return await runtime.control.changeLimits(container.id, changes, specTag(spec));
  } catch (error) {
    throw cannotUpdate(container, error);
  }
}

/** A marker that stayed would make the next start of the daemon undo what is in force. */
async function keep(
  { clock, log }: ContainerContext,
  { id }: Container,
  limits: LimitUpdate | undefined,
): Promise<void> {
  try {
    await persistently(clock, () => {
      failpoint('containers.update.committed');
      limits?.keep();
    });
  } catch (error) {
    log.error({ container: id, err: error }, 'the marker of an update stays');
  }
}

function decide<T>(container: Container, decision: () => T): T {
  try {
    return decision();
  } catch (error) {
    throw error instanceof EngineError && error.code === 'conflict' ? cannotUpdate(container, error) : error;
  }
}

function cannotUpdate({ id }: Container, error: unknown): EngineError {
  const code = error instanceof EngineError ? error.code : 'internal';
  return new EngineError(code, `Cannot update container ${id}: ${errorText(error)}`, { cause: error });
}

function refuseRemoved({ registry }: ContainerContext, container: Container): void {
  const { id, state } = container;
  if (registry.get(id) !== container || state.status === 'removing' || state.status === 'dead') {
    throw conflict(`Cannot update container ${id}: container is marked for removal and cannot be "update"`);
  }
}
