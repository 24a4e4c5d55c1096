import { closeSync, copyFileSync, openSync, readSync, rmSync } from 'node:fs';
import { EngineError, errnoOf, ifThere } from '../../daemon/base/errors.ts';

/** Bytes of a write-ahead log's header; two numbers in it are drawn anew when the log begins again at its start. */
const WAL_HEADER_BYTES = 32;
/** A log begins again after megabytes of changes: hardly two copies in a row are outrun. */
const ATTEMPTS_MAX = 20;

/**
 * Copies a database with its write-ahead log to `copy` and `copy-wal`, also while a daemon writes to it. What is read
 * there is what was committed at one moment.
 *
 * The file is copied before the log. A checkpoint that runs meanwhile brings pages from the log into the file, so a
 * page that was copied half old and half new is whole in the log, as long as the log has not begun again since the copy
 * began: then its header tells, and the copy is made once more (https://sqlite.org/fileformat2.html#walformat). A
 * transaction whose end was not copied has no valid frame that commits it and does not count.
 *
 * Throws EngineError unavailable when the log keeps beginning again; the file system's errors are passed on.
 */
export function copyDatabase(path: string, copy: string): void {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const before = walHeader(`${path}-wal`);
    copyFileSync(path, copy);
    copyWal(`${path}-wal`, `${copy}-wal`);
    if (before === walHeader(`${path}-wal`)) {
      return;
    }
  }
  throw new EngineError('unavailable', `copy database ${path}: it changes too fast to be read`);
}

/** A daemon that stops takes its log away. */
function copyWal(wal: string, copy: string): void {
  try {
    copyFileSync(wal, copy);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') {
      throw error;
    }
    rmSync(copy, { force: true });
  }
}

/** Empty when there is no log, or none that was written to. */
function walHeader(wal: string): string {
  const fd = ifThere(() => openSync(wal, 'r'));
  if (fd === undefined) {
    return '';
  }
  try {
    const header = Buffer.alloc(WAL_HEADER_BYTES);
    return header.subarray(0, readSync(fd, header, 0, WAL_HEADER_BYTES, 0)).toString('hex');
  } finally {
    closeSync(fd);
  }
}
