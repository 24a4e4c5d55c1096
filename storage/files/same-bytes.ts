import { readSync } from 'node:fs';
import { reopen } from '../../daemon/base/kernel/files/files.ts';

const PIECE_BYTES = 256 * 1024;

/** Of two files, given by descriptors that only name them. Blocks. */
export function haveSameBytes(one: { fd: number }, other: { fd: number }): boolean {
  using left = reopen(one.fd, 'file');
  using right = reopen(other.fd, 'file');
  const [a, b] = [Buffer.allocUnsafe(PIECE_BYTES), Buffer.allocUnsafe(PIECE_BYTES)];
  for (let at = 0; ;) {
    const read = readSync(left.fd, a, 0, PIECE_BYTES, at);
    if (readSync(right.fd, b, 0, PIECE_BYTES, at) !== read || a.compare(b, 0, read, 0, read) !== 0) {
      return false;
    }
    if (read === 0) {
      return true;
    }
    at += read;
  }
}
