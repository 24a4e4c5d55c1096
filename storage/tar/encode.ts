import type { FileTime } from '../../daemon/base/kernel/files/file-status.ts';
import { TAR_BLOCK } from './header.ts';
import type { TarEntryType } from './parser.ts';

/** A member as it is written. Names are byte strings (names.ts); a directory's ends with a slash. */
export interface WrittenMember {
  name: string;
  type: TarEntryType;
  linkName?: string;
  size?: number;
  mode: number;
  uid: number;
  gid: number;
  /** Whole seconds are written, as Go's tar writer does for Docker. */
  mtime: FileTime;
  major?: number;
  minor?: number;
  /** Extended attributes; the name in the tar gets `SCHILY.xattr.` in front. */
  attributes?: ReadonlyMap<string, Buffer>;
}

const FLAGS: Readonly<Record<TarEntryType, string>> = {
  file: '0',
  link: '1',
  symlink: '2',
  character: '3',
  block: '4',
  directory: '5',
  fifo: '6',
};
const NAME_BYTES = 100;
/** What seven and eleven octal digits can say. */
const ID_MAX = 0o7777777;
const SIZE_MAX = 0o77777777777;

/**
 * Header blocks of a member: ustar, with an extended header (POSIX.1-2001 pax) in front for what ustar cannot hold.
 * Pure.
 */
export function encodeHeader(member: WrittenMember): Buffer {
  const { name, linkName = '', size = 0, uid, gid, mtime } = member;
  const records: [string, Buffer][] = [];
  const extend = (key: string, value: string): void => {
    records.push([key, Buffer.from(value, 'latin1')]);
  };
  if (name.length > NAME_BYTES) {
    extend('path', name);
  }
  if (linkName.length > NAME_BYTES) {
    extend('linkpath', linkName);
  }
  for (const [key, value, max] of [
    ['size', size, SIZE_MAX],
    ['uid', uid, ID_MAX],
    ['gid', gid, ID_MAX],
    ['mtime', mtime.seconds, SIZE_MAX],
  ] as const) {
    if (value > max || value < 0) {
      extend(key, String(value));
    }
  }
  for (const [attribute, value] of member.attributes ?? []) {
    records.push([`SCHILY.xattr.${attribute}`, value]);
  }
  const header = ustar(member, FLAGS[member.type]);
  if (records.length === 0) {
    return header;
  }
  const body = Buffer.concat(records.map(([key, value]) => paxRecord(key, value)));
  const extended = { ...member, name: extendedName(name), linkName: '', size: body.length, mode: 0o644 };
  return Buffer.concat([ustar({ ...extended, mtime: EPOCH }, 'x'), body, padding(body.length), header]);
}

const EPOCH: FileTime = { seconds: 0, nanoseconds: 0 };

/** Zeros that fill a member's last block. */
export function padding(size: number): Buffer {
  return TAR_END.subarray(0, (TAR_BLOCK - (size % TAR_BLOCK)) % TAR_BLOCK);
}

/** The two zero blocks at the end of a tar. */
export const TAR_END = Buffer.alloc(2 * TAR_BLOCK);

/** As tar programs name them; no reader uses the name. */
function extendedName(name: string): string {
  const path = name.endsWith('/') ? name.slice(0, -1) : name;
  return `PaxHeaders.0/${path.slice(path.lastIndexOf('/') + 1)}`.slice(0, NAME_BYTES);
}

/** `LENGTH KEY=VALUE\n`; the length counts itself. */
function paxRecord(key: string, value: Buffer): Buffer {
  const rest = Buffer.byteLength(key, 'latin1') + value.length + 3;
  let length = rest + 1;
  while (String(length).length + rest !== length) {
    length = String(length).length + rest;
  }
  return Buffer.concat([Buffer.from(`${length} ${key}=`, 'latin1'), value, Buffer.from('\n')]);
}

function ustar(member: WrittenMember, flag: string): Buffer {
  const { name, linkName = '', size = 0, mode, uid, gid, mtime, major = 0, minor = 0 } = member;
  // Of the pool, as there is one for each file.
  const block = Buffer.allocUnsafe(TAR_BLOCK);
  TEMPLATE.copy(block);
  block.write(name.slice(0, NAME_BYTES), 0, 'latin1');
  octal(block, 100, 8, mode);
  octal(block, 108, 8, atMost(uid, ID_MAX));
  octal(block, 116, 8, atMost(gid, ID_MAX));
  octal(block, 124, 12, atMost(size, SIZE_MAX));
  octal(block, 136, 12, atMost(mtime.seconds, SIZE_MAX));
  block[156] = flag.charCodeAt(0);
  if (linkName !== '') {
    block.write(linkName.slice(0, NAME_BYTES), 157, 'latin1');
  }
  octal(block, 329, 8, atMost(major, ID_MAX));
  octal(block, 337, 8, atMost(minor, ID_MAX));
  let sum = 0;
  for (let index = 0; index < TAR_BLOCK; index += 1) {
    sum += block[index] ?? 0;
  }
  octal(block, 148, 7, sum);
  return block;
}

/** What all headers have: there is one for each file. The checksum is counted with blanks in its place. */
const TEMPLATE = Buffer.alloc(TAR_BLOCK);
TEMPLATE.fill(' ', 148, 156);
TEMPLATE.write('ustar\u000000', 257, 'latin1');

/** What does not fit stands in the extended header, and readers look there first. */
function atMost(value: number, max: number): number {
  return value < 0 || value > max ? 0 : value;
}

/** Digits, and a NUL behind them. */
function octal(block: Buffer, offset: number, length: number, value: number): void {
  let rest = value;
  for (let place = offset + length - 2; place >= offset; place -= 1) {
    // Of a number beyond 32 bits, too.
    const higher = Math.floor(rest / 8);
    block[place] = ZERO + rest - higher * 8;
    rest = higher;
  }
  block[offset + length - 1] = 0;
}

const ZERO = 0x30;
