import { posix } from 'node:path';
import { problemOfLength } from './refuse.ts';

/** Places below /proc that runc lets be covered (lxcfs does); everything else there would hide the kernel. */
const PROC_FILES = new Set([
  '/proc/cpuinfo',
  '/proc/diskstats',
  '/proc/loadavg',
  '/proc/meminfo',
  '/proc/net/dev',
  '/proc/slabinfo',
  '/proc/stat',
  '/proc/swaps',
  '/proc/sys/kernel/ns_last_pid',
  '/proc/uptime',
]);

/** An absolute path without `.`, `..` and trailing slash. */
export function cleanPath(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

/** Why nothing can be mounted there, undefined when it can. */
export function problemOfDestination(path: string): string | undefined {
  const tooLong = problemOfLength(path);
  if (tooLong !== undefined) {
    return tooLong;
  }
  if (!path.startsWith('/')) {
    return `invalid mount path: '${path}' mount path must be absolute`;
  }
  const clean = cleanPath(path);
  if (clean === '/') {
    return "invalid specification: destination can't be '/'";
  }
  if (clean.startsWith('/proc/') && !PROC_FILES.has(clean)) {
    return `invalid mount path: '${path}' is inside /proc`;
  }
  return undefined;
}
