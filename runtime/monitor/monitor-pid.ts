import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf, internal } from '../../daemon/base/errors.ts';
import { sendSignal } from '../../daemon/base/kernel/pidfd.ts';
import { identify, isAlive } from '../../daemon/base/kernel/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/process.ts';
import { limits } from '../../daemon/base/limits.ts';
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
  return namesBundle(pid, bundle) ? monitor : undefined;
}

/**
 * Kills the conmon of `bundle` and the runc that it may be running, and waits until both are gone, so that nothing is
 * made any more behind the back of whoever removes it. What runs in the container lives on.
 */
export async function endMonitor(bundle: Bundle): Promise<void> {
  const monitor = monitorOf(bundle);
  if (monitor === undefined) {
    return;
  }
  const ending = [monitor, ...runcOf(monitor, bundle)];
  for (const process of ending) {
    sendSignal(process, SIGKILL);
  }
  const deadline = performance.now() + limits.killWaitMs;
  while (ending.some(isAlive)) {
    if (performance.now() > deadline) {
      throw internal(`kill monitor ${monitor.pid}: it does not end`);
    }
    await sleep(1);
  }
}

/** Children of conmon that work on `bundle`: `runc create`, but not the container's init. */
function runcOf(monitor: ProcessIdentity, bundle: Bundle): ProcessIdentity[] {
  return readIfThere(`/proc/${monitor.pid}/task/${monitor.pid}/children`)
    .split(' ')
    .flatMap((pid) => (namesBundle(Number(pid), bundle) ? (identify(Number(pid)) ?? []) : []));
}

function namesBundle(pid: number, bundle: Bundle): boolean {
  return readIfThere(`/proc/${pid}/cmdline`)
    .split('\0')
    .some((argument) => argument.endsWith(bundle.path) || argument.startsWith(`${bundle.path}/`));
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
