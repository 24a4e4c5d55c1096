import { invariant } from '../../daemon/base/errors.ts';
import { TAR_BLOCK } from '../layers/tar/header.ts';

/** One member of a tarball that we write. Names are ours: short, ASCII. */
export interface WrittenMember {
  name: string;
  kind: 'file' | 'directory' | 'symlink';
  size?: number;
  target?: string;
  /** Seconds since the epoch. */
  mtime: number;
}

const TYPE_FLAGS = { file: '0', symlink: '2', directory: '5' };
const MODES = { file: 0o644, symlink: 0o777, directory: 0o755 };
/** What eleven octal digits can say; larger sizes are written in base 256, as GNU and Go do. */
const OCTAL_SIZE_MAX = 0o77777777777;

/** A ustar header. */
export function writeHeader(member: WrittenMember): Buffer {
  const { name, kind, size = 0, target = '', mtime } = member;
  invariant(name.length <= 100 && target.length <= 100, `tar member name ${name}`);
  const block = Buffer.alloc(TAR_BLOCK);
  block.write(name, 0, 'latin1');
  octal(block, 100, 8, MODES[kind]);
  octal(block, 108, 8, 0);
  octal(block, 116, 8, 0);
  if (size <= OCTAL_SIZE_MAX) {
    octal(block, 124, 12, size);
  } else {
    block.writeBigUInt64BE(BigInt(size), 128);
    block[124] = 0x80;
  }
  octal(block, 136, 12, Math.min(Math.max(0, Math.floor(mtime)), OCTAL_SIZE_MAX));
  block.fill(0x20, 148, 156);
  block.write(TYPE_FLAGS[kind], 156, 'latin1');
  block.write(target, 157, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** Zeros that fill a member's last block. */
export function writePadding(size: number): Buffer {
  return Buffer.alloc((TAR_BLOCK - (size % TAR_BLOCK)) % TAR_BLOCK);
}

/** The two zero blocks at the end. */
export function writeEnd(): Buffer {
  return Buffer.alloc(2 * TAR_BLOCK);
}

function octal(block: Buffer, offset: number, length: number, value: number): void {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
}
