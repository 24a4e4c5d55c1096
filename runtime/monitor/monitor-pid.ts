import { readFileSync } from 'node:fs';
import { errnoOf } from '../../daemon/base/errors.ts';
import { sendSignal } from '../../daemon/base/kernel/pidfd.ts';
import { identify } from '../../daemon/base/kernel/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/process.ts';
import type { Bundle } from '../runc/exec-root.ts';

/**
 * The live conmon that was started for `bundle`; undefined when it has ended. conmon records its number only, so the
 * process must also carry the path of the bundle among its arguments: no other process does.
 */
export function monitorOf(bundle: Bundle): ProcessIdentity | undefined {
  const pid = Number(readIfThere(bundle.monitorPidFile));
  if (!Number.isInteger(pid) || pid <= 1) {
    return undefined;
  }
  const monitor = identify(pid);
  const argv = readIfThere(`/proc/${pid}/cmdline`).split('\0');
  return argv.some((argument) => argument.endsWith(bundle.path)) ? monitor : undefined;
}

/** Kills the conmon of `bundle`, and with it the runc that it may be running. What runs in the container lives on. */
export function killMonitor(bundle: Bundle): void {
  const monitor = monitorOf(bundle);
  if (monitor) {
    sendSignal(monitor, SIGKILL);
  }
}

const SIGKILL = 9;

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ESRCH') {
      return '';
    }
    throw error;
  }
}
