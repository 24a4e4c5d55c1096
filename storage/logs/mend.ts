import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { ifThere } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { NEWLINE } from './record.ts';

/**
 * Ends a log that a power cut or a full disk left in the middle of a record, so that the next record begins a line of
 * its own. Call it while no monitor writes. A missing or empty file is whole.
 */
export function mendEnd(path: string): void {
  addToEnd(path, '');
}

/** As `mendEnd`, and adds whole records, in one write: a daemon that dies has done both or nothing. */
export function addToEnd(path: string, records: string): void {
  const fd = ifThere(() => openSync(path, constants.O_RDWR | constants.O_APPEND));
  if (fd === undefined) {
    return;
  }
  try {
    const text = `${isTorn(fd) ? '\n' : ''}${records}`;
    if (text !== '') {
      failpoint('logs.open.mend');
      writeSync(fd, text);
    }
  } finally {
    closeSync(fd);
  }
}

function isTorn(fd: number): boolean {
  const { size } = fstatSync(fd);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== NEWLINE;
}
