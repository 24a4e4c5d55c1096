import type { TarEntryType, TarMember } from './parser.ts';

/**
 * Members on their way to another thread: as objects each of them would be taken apart and put together one by one, on
 * both sides. Most are files and directories without attributes; what the others have besides stands apart.
 */
export interface PackedMembers {
  /** One after the other, each with a NUL behind it, which no name holds. */
  names: string;
  numbers: Float64Array;
  /** By their places. */
  others: ReadonlyMap<number, TarMember>;
}

const TYPES: readonly TarEntryType[] = ['file', 'directory'];
/** Type, size, mode, uid, gid, seconds, nanoseconds and offset. */
const NUMBERS = 8;
const NO_ATTRIBUTES: TarMember['attributes'] = new Map();

export function packMembers(members: readonly TarMember[]): PackedMembers {
  const names: string[] = [];
  const numbers = new Float64Array(members.length * NUMBERS);
  const others = new Map<number, TarMember>();
  let at = 0;
  for (const member of members) {
    if (isOther(member)) {
      others.set(names.length, member);
      names.push('');
    } else {
      const { name, type, size, mode, uid, gid, mtime, offset } = member;
      names.push(name);
      numbers.set([TYPES.indexOf(type), size, mode, uid, gid, mtime.seconds, mtime.nanoseconds, offset], at);
    }
    at += NUMBERS;
  }
  return { names: names.map((name) => `${name}\0`).join(''), numbers, others };
}

export function unpackMembers({ names, numbers, others }: PackedMembers): TarMember[] {
  const members: TarMember[] = [];
  let start = 0;
  for (let at = 0; at < numbers.length; at += NUMBERS) {
    const end = names.indexOf('\0', start);
    const other = others.get(members.length);
    members.push(other === undefined ? plain(names.slice(start, end), numbers, at) : received(other));
    start = end + 1;
  }
  return members;
}

function plain(name: string, numbers: Float64Array, at: number): TarMember {
  const number = (index: number): number => numbers[at + index] ?? 0;
  return {
    name,
    type: TYPES[number(0)] ?? 'file',
    linkName: '',
    size: number(1),
    mode: number(2),
    uid: number(3),
    gid: number(4),
    mtime: { seconds: number(5), nanoseconds: number(6) },
    major: 0,
    minor: 0,
    attributes: NO_ATTRIBUTES,
    offset: number(7),
  };
}

/** More is to be said of it, or its name could not be told from others. */
function isOther({ name, type, attributes, sparse, sharedWith, linkName, major, minor }: TarMember): boolean {
  return (
    (type !== 'file' && type !== 'directory') ||
    attributes.size > 0 ||
    sparse !== undefined ||
    sharedWith !== undefined ||
    linkName !== '' ||
    major !== 0 ||
    minor !== 0 ||
    name.includes('\0')
  );
}

/** Between threads a Buffer becomes an Uint8Array. */
export function received(member: TarMember): TarMember {
  return member.attributes.size === 0
    ? member
    : {
        ...member,
        attributes: new Map([...member.attributes].map(([name, value]) => [name, Buffer.from(value)])),
      };
}
