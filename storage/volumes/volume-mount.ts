import { readFile, realpath } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf, errorText, failedPrecondition } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { MOUNT_FLAGS, mountInBackground, unmount } from '../../daemon/base/kernel/files/mounts.ts';

/** What mount(2) is called with for a volume that has driver options. */
export interface VolumeMountPlan {
  source: string;
  /** `none` for binds. */
  type: string;
  /** MS_* of sys/mount.h. */
  flags: number;
  /** MS_SHARED and its like, set by a call of its own; 0 = as it comes. */
  propagation: number;
  /** For the file system. */
  data: string;
}

const MS_REMOUNT = 0x20;
const MS_REC = 0x4000;
/** How long a busy mount is given before it is taken out of the tree lazily. */
const BUSY_RETRIES_MS = [2, 10];

/**
 * Mounts a volume's own file system over its directory, unless something is mounted there. A server that does not
 * answer holds up no other mount. What a client names is mounted as it is: a client is as powerful as root.
 */
export async function mountVolume(target: string, plan: VolumeMountPlan): Promise<void> {
  if (await isMountPoint(target)) {
    return;
  }
  const { source, type, flags, propagation, data } = plan;
  try {
    failpoint('volume.mount.mount');
    await mountInBackground({ source, target, type, flags, data });
    // Of a bind the first call takes nothing but the place.
    const rest = flags & ~(MOUNT_FLAGS.bind | MS_REC);
    if ((flags & MOUNT_FLAGS.bind) !== 0 && rest !== 0) {
      await changeOrUndo(target, MS_REMOUNT | MOUNT_FLAGS.bind | rest, data);
    }
    if (propagation !== 0) {
      await changeOrUndo(target, propagation, '');
    }
  } catch (error) {
    throw failedPrecondition(
      `error while mounting volume '${target}': failed to mount local volume: mount ${source}:${target}, ` +
        `flags: 0x${flags.toString(16)}${data && `, data: ${withoutPasswords(data)}`}: ${errorText(error)}`,
      { cause: error },
    );
  }
}

/** `username=u,password=p` of cifs and its like, fit for an error that is logged. */
function withoutPasswords(data: string): string {
  return data.replaceAll(/(^|,)(pass(?:word2?|wd)?)=[^,]*/gi, '$1$2=********');
}

/** Takes off what `mountVolume` has put there. Idempotent. What is busy goes out of the tree and ends with its user. */
export async function unmountVolume(target: string): Promise<void> {
  failpoint('volume.unmount');
  if (!(await isMountPoint(target))) {
    return;
  }
  for (const delayMs of BUSY_RETRIES_MS) {
    try {
      await unmount(target, { lazy: false });
      return;
    } catch (error) {
      if (errnoOf(error) !== 'EBUSY') {
        throw error;
      }
      await sleep(delayMs);
    }
  }
  await unmount(target, { lazy: true });
}

async function changeOrUndo(target: string, flags: number, data: string): Promise<void> {
  try {
    await mountInBackground({ source: 'none', target, type: 'none', flags, data });
  } catch (error) {
    await unmount(target, { lazy: true });
    throw error;
  }
}

async function isMountPoint(path: string): Promise<boolean> {
  const real = await realpath(path);
  return (await mountPointsBelow(real)).includes(real);
}

/** Mount points at or below a path without links. */
export async function mountPointsBelow(path: string): Promise<string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  // Field 5 is the mount point, with blanks and backslashes as octal escapes (proc(5)).
  const points = table
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replaceAll(/\\(\d{3})/g, (_all, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
  return points.filter((point) => point === path || point.startsWith(`${path}/`));
}
