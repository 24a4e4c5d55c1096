import { existsSync, rmSync } from 'node:fs';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { endMonitor } from '../monitor/monitor-pid.ts';
import { callRunc } from './parts.ts';
import type { RuntimeParts } from './parts.ts';

/**
 * Removes what the runtime has of a container: its monitor where no exit is recorded, cgroup, state and bundle; the
 * record of its exit stays. Idempotent, also for half of it.
 */
export async function cleanUp(parts: RuntimeParts, id: string): Promise<void> {
  const { root, ooms, exits, records, others, launched } = parts;
  const bundle = root.bundle(id);
  ooms.forget(id);
  exits.disregard(id);
  if (records.read(id) === undefined) {
    // Half-created, or asked to end without an exit: a monitor that lives would go on creating or wait for ever.
    await endMonitor(bundle);
    records.removeDrafts(id);
  }
  if (existsSync(root.state(id))) {
    await others.of(id)?.delete();
  }
  failpoint('runtime.cleanup.cgroup');
  await removeCgroup(parts, id);
  failpoint('runtime.cleanup.state');
  rmSync(root.state(id), { recursive: true, force: true });
  failpoint('runtime.cleanup.bundle');
  rmSync(bundle.path, { recursive: true, force: true });
  launched.forget(id);
}

async function removeCgroup(parts: RuntimeParts, id: string): Promise<void> {
  const { deps, root, cgroups, launched } = parts;
  const cgroupsPath = launched.cgroupsPath(id);
  if (cgroups.driver === 'systemd' && existsSync(root.state(id))) {
    // The scope belongs to systemd, which must be asked to drop it.
    await callRunc(parts, 'delete', '--force', id);
  }
  try {
    await cgroups.remove(cgroupsPath);
  } catch (error) {
    if (!existsSync(root.state(id))) {
      throw error;
    }
    deps.log.warn({ container: id, err: error }, 'leaving the removal of a cgroup to runc');
    await callRunc(parts, 'delete', '--force', id);
    await cgroups.remove(cgroupsPath);
  }
}
