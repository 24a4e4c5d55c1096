import type { Filters } from '../../../api/types/requests.ts';
import type { ContainerPruneReport } from '../../../api/types/container.ts';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { labelTest } from '../views/list-filters.ts';
import type { Test } from '../views/list-filters.ts';
import { removeLocked } from './remove.ts';
import { isAtRest } from '../state/state-facts.ts';
import { parseUntil } from '../../base/go/moment.ts';

/** Removes all containers at rest that pass the filters (`until`, `label`, `label!`); says what that gave back. */
export async function pruneContainers(
  context: ContainerContext,
  filters: Filters,
): Promise<ContainerPruneReport> {
  const passes = pruneTest(filters, context.clock.nowNano());
  const deleted: string[] = [];
  let reclaimed = 0;
  for (const container of context.registry.all()) {
    if (isPrunable(container) && passes(container)) {
      const size = await pruneOne(context, container);
      if (size !== undefined) {
        deleted.push(container.id);
        reclaimed += size;
      }
    }
  }
  const attributes = { reclaimed: String(reclaimed) };
  context.journal.note([{ type: 'container', action: 'prune', actorId: '', attributes }]);
  return { ContainersDeleted: deleted.length === 0 ? null : deleted, SpaceReclaimed: reclaimed };
}

function isPrunable({ state, neededUntil, spec }: Container): boolean {
  // One that was made for a task is about to be started: its swarm takes it away otherwise.
  const isNeeded = neededUntil?.aborted === false || (spec.ofTask === true && state.status === 'created');
  return !isNeeded && isAtRest(state) && state.status !== 'removing';
}

/** Bytes given back, or undefined when it was started or removed first. */
async function pruneOne(context: ContainerContext, container: Container): Promise<number | undefined> {
  try {
    return await context.mutex.run(container.id, async () => {
      if (context.registry.get(container.id) !== container || !isPrunable(container)) {
        return undefined;
      }
      const size = await context.rootfs.sizeRw(container.id);
      await removeLocked(context, container, { volumes: false, force: false });
      return size;
    });
  } catch (error) {
    if (!isEngineError(error)) {
      throw error;
    }
    context.log.warn({ container: container.id, err: error }, 'prune left a container');
    return undefined;
  }
}

/** Pure. Throws invalid_argument for an unknown key, or an `until` that is no time. */
export function pruneTest(filters: Filters, nowNano: bigint): Test {
  const tests: Test[] = [];
  for (const [key, values] of filters) {
    switch (key) {
      case 'label':
        tests.push(labelTest(values));
        break;
      case 'label!':
        values.forEach((value) => {
          const has = labelTest([value]);
          tests.push((container) => !has(container));
        });
        break;
      case 'until': {
        const limit = parseUntil(values, nowNano);
        tests.push(({ createdNano }) => createdNano < limit);
        break;
      }
      default:
        throw invalidArgument(`invalid filter '${key}'`);
    }
  }
  return (container) => tests.every((test) => test(container));
}
