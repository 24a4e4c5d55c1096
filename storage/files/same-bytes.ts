import { readSync } from 'node:fs';
import { reopen } from '../../daemon/base/kernel/files/files.ts';
import { attributesOf } from './tar-out.ts';

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

/** Of two files or two directories, the same: what a tar of them would have. */
export function haveSameAttributes(
  one: { fd: number },
  other: { fd: number },
  kind: 'file' | 'directory',
): boolean {
  using left = reopen(one.fd, kind);
  using right = reopen(other.fd, kind);
  const [a, b] = [attributesOf(left.fd), attributesOf(right.fd)];
  return a.size === b.size && [...a].every(([name, value]) => b.get(name)?.equals(value) === true);
}
