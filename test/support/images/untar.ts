/** A member of a tar read back, with its content. Names are byte strings: a character stands for a byte. */
export interface ReadMember {
  name: string;
  type: string;
  linkName: string;
  /** Bytes of its content. */
  size: number;
  mode: number;
  uid: number;
  gid: number;
  mtime: { seconds: number };
  major: number;
  minor: number;
  /** Extended attributes. */
  attributes: ReadonlyMap<string, Buffer>;
  content: Buffer;
}

const BLOCK = 512;
const TYPES = ['file', 'link', 'symlink', 'character', 'block', 'directory', 'fifo'];
const ATTRIBUTE = 'SCHILY.xattr.';

/**
 * All members of a tar in ustar or pax format (pax(1p)), which is what the engine writes. By the tests' own hand, as
 * packages read names and attributes as UTF-8; unit/support/tar.test.ts compares it with tar-stream and GNU tar.
 */
export function untar(bytes: Buffer): ReadMember[] {
  const members: ReadMember[] = [];
  let extended = new Map<string, Buffer>();
  for (let offset = 0; offset + BLOCK <= bytes.length && bytes[offset] !== 0;) {
    const head = bytes.subarray(offset, offset + BLOCK);
    const size = Number(extended.get('size')?.toString('latin1') ?? octal(head, 124, 12));
    const content = bytes.subarray(offset + BLOCK, offset + BLOCK + size);
    const flag = field(head, 156, 1);
    offset += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (flag === 'x') {
      extended = paxRecords(content);
    } else {
      members.push(memberOf(head, flag, extended, content));
      extended = new Map();
    }
  }
  return members;
}

/** `name` of each member, in order. */
export function namesIn(bytes: Buffer): string[] {
  return untar(bytes).map(({ name }) => name);
}

function memberOf(
  head: Buffer,
  flag: string,
  extended: ReadonlyMap<string, Buffer>,
  content: Buffer,
): ReadMember {
  const prefix = field(head, 345, 155);
  const plain = field(head, 0, 100);
  const said = (key: string): string | undefined => extended.get(key)?.toString('latin1');
  const type = TYPES[flag === '' ? 0 : Number(flag)];
  if (type === undefined) {
    throw new Error(`a member of type ${JSON.stringify(flag)}, which the engine does not write`);
  }
  return {
    name: said('path') ?? (prefix === '' ? plain : `${prefix}/${plain}`),
    type,
    linkName: said('linkpath') ?? field(head, 157, 100),
    size: content.length,
    mode: octal(head, 100, 8),
    uid: Number(said('uid') ?? octal(head, 108, 8)),
    gid: Number(said('gid') ?? octal(head, 116, 8)),
    mtime: { seconds: Math.floor(Number(said('mtime') ?? octal(head, 136, 12))) },
    major: octal(head, 329, 8),
    minor: octal(head, 337, 8),
    attributes: new Map(
      [...extended].flatMap(([key, value]) =>
        key.startsWith(ATTRIBUTE) ? [[key.slice(ATTRIBUTE.length), value]] : [],
      ),
    ),
    content: Buffer.from(content),
  };
}

/** `LENGTH KEY=VALUE\n`, again and again; the length counts all of it. */
function paxRecords(bytes: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let offset = 0; offset < bytes.length;) {
    const space = bytes.indexOf(' ', offset);
    const length = Number(bytes.toString('latin1', offset, space));
    const equals = bytes.indexOf('=', space);
    records.set(
      bytes.toString('latin1', space + 1, equals),
      Buffer.from(bytes.subarray(equals + 1, offset + length - 1)),
    );
    offset += length;
  }
  return records;
}

function field(head: Buffer, start: number, length: number): string {
  return head.toString('latin1', start, start + length).replace(/\0.*$/s, '');
}

function octal(head: Buffer, start: number, length: number): number {
  return Number.parseInt(field(head, start, length).trim() || '0', 8);
}
