import { invalidArgument } from '../../daemon/base/errors.ts';
import type { FileTime } from '../../daemon/base/kernel/files/file-status.ts';
import { sparseNumber, type PaxSparse } from './sparse.ts';

/** What an extended header (POSIX.1-2001 pax) says about the entry that follows. Absent = as its ustar header says. */
export interface PaxRecords {
  path?: string;
  linkPath?: string;
  size?: number;
  uid?: number;
  gid?: number;
  mtime?: FileTime;
  /** Attribute name -> value; values are bytes, they may hold NULs and newlines. */
  attributes?: Map<string, Buffer>;
  sparse?: PaxSparse;
}

const ATTRIBUTE_PREFIX = 'SCHILY.xattr.';
const SPARSE_PREFIX = 'GNU.sparse.';

/** Parses `LENGTH KEY=VALUE\n` records. Throws invalid_argument when one is malformed. */
export function parsePax(bytes: Buffer, what: string): PaxRecords {
  const records: PaxRecords = {};
  let position = 0;
  while (position < bytes.length) {
    const blank = bytes.indexOf(0x20, position);
    const digits = blank === -1 ? '' : bytes.toString('latin1', position, Math.min(blank, position + 20));
    const length = /^[1-9]\d{0,9}$/.test(digits) ? Number(digits) : 0;
    const end = position + length;
    const equals = bytes.indexOf(0x3d, blank + 1);
    if (length === 0 || end > bytes.length || bytes[end - 1] !== 0x0a || equals === -1 || equals >= end) {
      throw invalidArgument(`${what}: malformed pax record at byte ${position}`);
    }
    setRecord(
      records,
      bytes.toString('latin1', blank + 1, equals),
      bytes.subarray(equals + 1, end - 1),
      what,
    );
    position = end;
  }
  return records;
}

function setRecord(records: PaxRecords, key: string, value: Buffer, what: string): void {
  if (key.startsWith(ATTRIBUTE_PREFIX)) {
    records.attributes ??= new Map();
    // A copy: the value outlives the buffer it was read into.
    records.attributes.set(key.slice(ATTRIBUTE_PREFIX.length), Buffer.from(value));
    return;
  }
  if (key.startsWith(SPARSE_PREFIX)) {
    records.sparse ??= {};
    setSparse(records.sparse, key.slice(SPARSE_PREFIX.length), value.toString('latin1'), what);
    return;
  }
  // An empty value takes a record back: the ustar header counts again.
  if (value.length === 0) {
    return;
  }
  const text = value.toString('latin1');
  switch (key) {
    case 'path':
      records.path = text;
      return;
    case 'linkpath':
      records.linkPath = text;
      return;
    case 'size':
    case 'uid':
    case 'gid':
      records[key] = decimal(key, text, what);
      return;
    case 'mtime':
      records.mtime = time(text, what);
      return;
    default:
      // atime, ctime, uname, comment, charsets, ...: nothing that a layer's files keep.
      return;
  }
}

function setSparse(sparse: PaxSparse, key: string, text: string, what: string): void {
  switch (key) {
    case 'major':
      sparse.version = [text, sparse.version?.[1]];
      return;
    case 'minor':
      sparse.version = [sparse.version?.[0], text];
      return;
    case 'name':
      sparse.name = text;
      return;
    case 'size':
    case 'realsize':
      sparse.realSize = sparseNumber(text, what);
      return;
    case 'map':
      sparse.numbers = text === '' ? [] : text.split(',').map((number) => sparseNumber(number, what));
      return;
    case 'offset':
    case 'numbytes':
      addNumber((sparse.numbers ??= []), key, sparseNumber(text, what), what);
      return;
    case 'numblocks':
      // Says how many there are; they count themselves.
      return;
    default:
      throw invalidArgument(`${what}: sparse file: unknown record ${JSON.stringify(key.slice(0, 40))}`);
  }
}

/** Version 0.0: an offset, its size, the next offset, ... */
function addNumber(numbers: number[], key: 'offset' | 'numbytes', value: number, what: string): void {
  if ((numbers.length % 2 === 0) !== (key === 'offset')) {
    throw invalidArgument(`${what}: sparse file: offsets and sizes do not take turns`);
  }
  numbers.push(value);
}

function decimal(key: string, text: string, what: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) {
    throw invalidArgument(`${what}: pax record ${key} is not a number: ${JSON.stringify(text.slice(0, 40))}`);
  }
  return value;
}

/** Decimal seconds with an optional fraction; `-1.5` means half a second before -1. */
function time(text: string, what: string): FileTime {
  const match = /^(-?)(\d{1,15})(?:\.(\d{0,30}))?$/.exec(text);
  if (!match) {
    throw invalidArgument(`${what}: pax record mtime is not a time: ${JSON.stringify(text.slice(0, 40))}`);
  }
  const nanoseconds = Number((match[3] ?? '').slice(0, 9).padEnd(9, '0'));
  const seconds = Number(match[2]);
  if (match[1] === '') {
    return { seconds, nanoseconds };
  }
  return nanoseconds === 0
    ? { seconds: 0 - seconds, nanoseconds: 0 }
    : { seconds: -seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds };
}
