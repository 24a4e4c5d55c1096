import type { Filters } from '../../api/types/requests.ts';
import type { VolumePruneReport } from '../../api/types/system.ts';
import type { VolumeRow } from '../../storage/database/rows.ts';
import { conflict, EngineError, errorText, isEngineError } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { persistently } from '../base/concurrency/retry.ts';
import { Rollback } from '../base/rollback.ts';
import { driverOf } from './context.ts';
import type { VolumeContext } from './context.ts';
import type { VolumeRemoval } from './driver.ts';
import { LOCAL_DRIVER } from './local-driver.ts';
import { pruneTest } from './prune.ts';
import { noSuchVolume } from './volume-index.ts';

/**
 * `force`: a volume that does not exist is not an error, and one that its plugin does not remove is at least
 * forgotten here. One in use always is an error.
 */
export function removeVolume(
  context: VolumeContext,
  name: string,
  options: { force: boolean },
): Promise<void> {
  return context.locks.run(name, async () => {
    const row = context.registry.find(name) ?? (await context.foreign.find(name))?.row;
    if (row === undefined) {
      if (options.force) {
        return;
      }
      throw noSuchVolume(name);
    }
    refuseUsed(context, name);
    await removeUnused(context, row, options);
  });
}

/** Removes a volume that was made for this container, which is being removed, unless another one uses it by now. */
export function removeAnonymous(context: VolumeContext, name: string, containerId: string): Promise<void> {
  return context.locks.run(name, async () => {
    const row = context.registry.find(name);
    if (row?.anonymous === true && usersOf(context, name, containerId).length === 0) {
      await removeUnused(context, row, { exceptContainer: containerId });
    }
  });
}

/** Removes the local volumes that no container uses and that pass; one that is taken into use meanwhile stays. */
export async function pruneVolumes(context: VolumeContext, filters: Filters): Promise<VolumePruneReport> {
  const passes = pruneTest(filters);
  const deleted: string[] = [];
  let reclaimed = 0;
  const local = context.registry.all().filter(({ driver }) => driver === LOCAL_DRIVER);
  for (const row of local.filter((each) => passes(each))) {
    const size = await context.locks.run(row.name, () => pruneOne(context, row));
    if (size !== undefined) {
      deleted.push(row.name);
      reclaimed += size;
    }
  }
  const attributes = { reclaimed: String(reclaimed) };
  context.journal.note([{ type: 'volume', action: 'prune', actorId: '', attributes }]);
  return { VolumesDeleted: deleted, SpaceReclaimed: reclaimed };
}

/** Bytes freed; undefined = it stays. */
async function pruneOne(context: VolumeContext, row: VolumeRow): Promise<number | undefined> {
  if (context.registry.find(row.name) !== row || usersOf(context, row.name).length > 0) {
    return undefined;
  }
  try {
    const [size] = await context.sizes([context.directories.mountpoint(row.name)]);
    await removeUnused(context, row);
    return size ?? 0;
  } catch (error) {
    if (!isEngineError(error)) {
      throw error;
    }
    context.log.warn({ volume: row.name, err: error }, 'prune left a volume');
    return undefined;
  }
}

async function removeUnused(
  context: VolumeContext,
  row: VolumeRow,
  { exceptContainer, force = false }: { exceptContainer?: string; force?: boolean } = {},
): Promise<void> {
  const { name } = row;
  const driver = driverOf(context, row);
  await using rollback = new Rollback(context.log, { volume: name });
  await driver.settle(row, exceptContainer);
  const removal = await driver.beginRemove(row);
  rollback.defer('put the directory back', () => removal.undo());
  failpoint('volume.remove.renamed');
  // A container may have begun to use it while the directory was renamed.
  refuseUsed(context, name, exceptContainer);
  // Not awaited where there is nothing: the row goes in the tick of that question.
  if (removal.destroy !== undefined) {
    await destroy(context, name, removal, force);
  }
  context.registry.remove(row);
  rollback.commit();
  await finish(context, name, removal);
}

/** `force`: what its plugin does not remove is no error. */
async function destroy(
  { log }: VolumeContext,
  name: string,
  removal: VolumeRemoval,
  force: boolean,
): Promise<void> {
  try {
    await removal.destroy?.();
  } catch (error) {
    if (!force) {
      throw isEngineError(error) ? new EngineError(error.code, `remove ${name}: ${errorText(error)}`) : error;
    }
    log.warn({ volume: name, err: error }, 'a volume was forgotten that its plugin did not remove');
  }
}

/** The volume is removed: what cannot be deleted now, the next start deletes. */
async function finish({ clock, log }: VolumeContext, name: string, removal: VolumeRemoval): Promise<void> {
  try {
    await persistently(clock, () => {
      failpoint('volume.remove.files');
      return removal.finish();
    });
  } catch (error) {
    log.error({ volume: name, err: error }, 'files of a removed volume could not be deleted');
  }
}

function refuseUsed(context: VolumeContext, name: string, exceptContainer?: string): void {
  const users = usersOf(context, name, exceptContainer);
  if (users.length > 0) {
    throw conflict(`remove ${name}: volume is in use - [${users.join(', ')}]`);
  }
}

/** Containers that use it, except one that is being removed. */
function usersOf(context: VolumeContext, name: string, exceptContainer?: string): string[] {
  return context.users(name).filter((id) => id !== exceptContainer);
}
