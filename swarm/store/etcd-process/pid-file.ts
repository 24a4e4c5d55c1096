import type { BigIntStats } from 'node:fs';
import { readFile, readdir, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errnoOf } from '../../../daemon/base/errors.ts';
import { bootId, identify, isAlive } from '../../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../../daemon/base/kernel/processes/process.ts';

const PID_FILE = 'etcd.pid';

/** A member that runs, perhaps since an earlier daemon. */
export interface RunningMember {
  process: ProcessIdentity;
  /** What it was started with; undefined where its starter died before it could say so. */
  argv: readonly string[] | undefined;
}

export async function writePidFile(directory: string, running: RunningMember): Promise<void> {
  const file = path.join(directory, PID_FILE);
  await writeFile(`${file}.new`, JSON.stringify({ ...running, bootId: bootId() }), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/**
 * The member that runs in this directory: the one of the pid file if it is that process still, else any etcd whose
 * working directory this is, for a daemon that died between the start and the file. Only root can stand there.
 */
export async function findMember(directory: string): Promise<RunningMember | undefined> {
  const noted = await readPidFile(directory);
  if (noted !== undefined && isAlive(noted.process)) {
    return noted;
  }
  const place = await stat(directory, { bigint: true });
  for (const name of await readdir('/proc')) {
    const running = /^\d+$/.test(name) ? await memberIn(place, Number(name)) : undefined;
    if (running !== undefined) {
      return { process: running, argv: undefined };
    }
  }
  return undefined;
}

async function readPidFile(directory: string): Promise<RunningMember | undefined> {
  try {
    const stored: unknown = JSON.parse(await readFile(path.join(directory, PID_FILE), 'utf8'));
    return isStored(stored) && stored.bootId === bootId() ? stored : undefined;
  } catch (error) {
    // None yet, or a torn one: the search below finds what there is.
    if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  }
}

function isStored(value: unknown): value is RunningMember & { bootId: string } {
  return (
    typeof value === 'object' && value !== null && 'process' in value && 'argv' in value && 'bootId' in value
  );
}

/** Compared by inode: a container may have a directory of the same path, and a program of the same name in it. */
async function memberIn(place: BigIntStats, pid: number): Promise<ProcessIdentity | undefined> {
  try {
    const standing = await stat(`/proc/${pid}/cwd`, { bigint: true });
    const isHere = standing.ino === place.ino && standing.dev === place.dev;
    const command = isHere ? await readFile(`/proc/${pid}/comm`, 'utf8') : '';
    return command.trim() === 'etcd' ? identify(pid) : undefined;
  } catch {
    // It has ended, or is a thread of the kernel: not ours either way.
    return undefined;
  }
}
