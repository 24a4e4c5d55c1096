import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { constants } from 'node:fs';
import { dirname, join } from 'node:path';
import { conflict, EngineError, errnoOf } from '../../base/errors.ts';
import { tryLock } from '../../base/kernel/files/file-lock.ts';

/** A file locked by this process; released when disposed or when the process ends in any way. */
export interface HeldFile extends Disposable {
  readonly path: string;
}

/**
 * Takes the data root for this daemon alone, making it when it is missing. Throws conflict with one line that names
 * the other daemon's pid.
 */
export function lockDataRoot(dataRoot: string): HeldFile {
  const path = join(dataRoot, 'berth.lock');
  makePrivateDirectory(dataRoot);
  return hold(path, (pid) => `data root ${dataRoot} is in use by another berthd (pid ${pid})`);
}

/** Writes the pid file. It is locked as well: after a crash the number alone may be that of any process. */
export function holdPidfile(path: string): HeldFile {
  mkdirSync(dirname(path), { recursive: true });
  const held = hold(path, (pid) => `pid file ${path} is in use by another berthd (pid ${pid})`, 0o644);
  return {
    path,
    [Symbol.dispose]: () => {
      // While the lock is still held: afterwards the file may be another daemon's.
      rmSync(path, { force: true });
      held[Symbol.dispose]();
    },
  };
}

function hold(path: string, inUse: (pid: string) => string, mode = 0o600): HeldFile {
  const fd = open(path, mode);
  if (!tryLock(fd, path)) {
    const [pid = ''] = readFileSync(fd, 'utf8').split('\n');
    closeSync(fd);
    throw conflict(inUse(pid || 'unknown'));
  }
  notePid(fd);
  return { path, [Symbol.dispose]: () => closeSync(fd) };
}

/** On a read-only disk as it is: an earlier daemon has made it, and its lock needs no writing. */
function open(path: string, mode: number): number {
  try {
    try {
      return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, mode);
    } catch (error) {
      if (errnoOf(error) !== 'EROFS') {
        throw error;
      }
      return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    }
  } catch (error) {
    throw new EngineError('internal', `open ${path}: ${errnoOf(error) ?? 'failed'}`, { cause: error });
  }
}

/**
 * Over what is there, and cut off behind it: a file made empty gives its block back, and on a full disk another takes
 * it. The number is for reading; the lock is what counts.
 */
function notePid(fd: number): void {
  const text = `${process.pid}\n`;
  try {
    writeSync(fd, text, 0);
    ftruncateSync(fd, text.length);
  } catch (error) {
    // Full, or open for reading only.
    if (!['ENOSPC', 'EBADF', 'EROFS', 'EIO'].includes(errnoOf(error) ?? '')) {
      throw error;
    }
  }
}

function makePrivateDirectory(path: string): void {
  try {
    if (mkdirSync(path, { recursive: true }) !== undefined) {
      // Passable for the group, because containers' volumes lie below; not readable by others.
      chmodSync(path, 0o710);
    }
  } catch (error) {
    throw new EngineError('internal', `data root ${path}: ${errnoOf(error) ?? 'cannot be made'}`, {
      cause: error,
    });
  }
}
