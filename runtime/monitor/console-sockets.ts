import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errnoOf } from '../../daemon/base/errors.ts';

/** What conmon names the socket on which runc hands it a terminal. */
const CONSOLE_SOCKET = /^conmon-term\.\w{6}$/;

/**
 * Paths of the console sockets that a conmon has open. It removes them itself once it has its terminal; who kills it
 * before removes them for it. Empty for a process that is gone.
 */
export function consoleSocketsOf(pid: number): string[] {
  try {
    const inodes = new Set(
      readdirSync(`/proc/${pid}/fd`).flatMap(
        (fd) => /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [],
      ),
    );
    return boundSockets(pid).flatMap(({ inode, path }) =>
      inodes.has(inode) && CONSOLE_SOCKET.test(basename(path)) ? [path] : [],
    );
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ESRCH') {
      return [];
    }
    throw error;
  }
}

/** Removes those that nobody has open: a conmon whose daemon died may end before it has its terminal. */
export function sweepConsoleSockets(directory: string): void {
  const names = readdirSync(directory).filter((name) => CONSOLE_SOCKET.test(name));
  if (names.length === 0) {
    return;
  }
  const bound = new Set(boundSockets('self').map(({ path }) => path));
  for (const path of names.map((name) => join(directory, name)).filter((name) => !bound.has(name))) {
    rmSync(path, { force: true });
  }
}

/** Of the network namespace that a process is in; unix(7): Num RefCount Protocol Flags Type St Inode Path. */
function boundSockets(pid: number | 'self'): { inode: string; path: string }[] {
  return readFileSync(`/proc/${pid}/net/unix`, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([, , , , , , inode = '', path = '']) => ({ inode, path }));
}
