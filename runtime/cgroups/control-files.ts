import { closeSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, ifThere } from '../../daemon/base/errors.ts';

/** EINVAL: /proc/<pid>/net of a process without a namespace any more. ENOTSUP: not at this cgroup. */
const ABSENT = ['ENOENT', 'ENODEV', 'ESRCH', 'EINVAL', 'EOPNOTSUPP', 'ENOTSUP'];
/** The longest files read this way (memory.stat, net/dev) have a few kilobytes; more would be read in pieces. */
const shared = Buffer.allocUnsafe(64 * 1024);

/** ENODEV: the cgroup was removed while its file was open. ENOTSUP: it holds threads, whose processes are elsewhere. */
const NOT_THERE = ['ENOENT', 'ENODEV', 'ENOTDIR', 'ENOTSUP'];

/** Contents of a control file; undefined when it, or its cgroup, is not there (any more). */
export function readControl(file: string): string | undefined {
  return ifThere(() => readFileSync(file, 'utf8'), NOT_THERE);
}

/** Writes a control file; false when it, or its cgroup, is not there (any more). */
export function writeControl(file: string, text: string): boolean {
  const write = (): true => {
    // Never create: a missing file means that this kernel or hierarchy has none.
    writeFileSync(file, text, { flag: 'r+' });
    return true;
  };
  return ifThere(write, NOT_THERE) ?? false;
}

/** Names of the cgroups right below a directory; none when it is not there (any more). */
export function childCgroups(directory: string): string[] {
  const entries = ifThere(() => readdirSync(directory, { withFileTypes: true }), NOT_THERE) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Pids in a cgroup and below. 0 = a process that this pid namespace does not see. */
export function processesBelow(directory: string): number[] {
  const own = (readControl(join(directory, 'cgroup.procs')) ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);
  return [...own, ...childCgroups(directory).flatMap((name) => processesBelow(join(directory, name)))];
}

/** ENODEV: the cgroup was removed while its file was open. */
export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENODEV', 'ENOTDIR'].includes(errnoOf(error) ?? '');
}

/**
 * Text of a small file of the kernel, up to 64 KiB; undefined when it is not there, or what it tells of has ended. A
 * third of the time of `readFileSync`, which asks for the size first and allocates: a hundred containers have a
 * thousand of these each second.
 */
export function readSmall(file: string): string | undefined {
  const fd = ifThere(() => openSync(file, 'r'), ABSENT);
  if (fd === undefined) {
    return undefined;
  }
  try {
    return ifThere(() => shared.toString('latin1', 0, readSync(fd, shared, 0, shared.length, 0)), ABSENT);
  } finally {
    closeSync(fd);
  }
}
