/**
 * Protocol buffers, as much of them as the calls of etcd and BuildKit need
 * (https://protobuf.dev/programming-guides/encoding): varints and length-delimited fields. Fields that a message does
 * not name are skipped, absent ones have their empty value.
 */
interface Kind<T> {
  wire: 0 | 2;
  empty: T;
  isEmpty(value: T): boolean;
  write(value: T): Buffer;
  read(raw: RawField): T;
}

interface Field<T> {
  number: number;
  empty: () => T;
  write(value: T): Buffer[];
  read(before: T, raw: RawField): T;
}

/** A field as it stands in a message; valid until the next one is read. */
interface RawField {
  number: number;
  /** Of wire type 0: a number of at most 28 bits, or one that is longer, else undefined. */
  small: number;
  large: bigint | undefined;
  /** Of wire type 2. */
  isBytes: boolean;
  bytes: Buffer;
}

export interface Message<T> {
  encode(value: Sparse<T>): Buffer;
  decode(bytes: Buffer): T;
}

/** To be sent: fields may be left out, in messages within it too. */
export type Sparse<T> = T extends Buffer | ReadonlyMap<string, unknown>
  ? T
  : T extends readonly (infer I)[]
    ? Sparse<I>[]
    : T extends object
      ? { [K in keyof T]?: Sparse<T[K]> }
      : T;

type Fields = Record<string, Field<unknown>>;
type Values<F extends Fields> = { [K in keyof F]: F[K] extends Field<infer T> ? T : never };
export type ValueOf<M> = M extends Message<infer T> ? T : never;

const NOTHING = Buffer.alloc(0);

export const text: Kind<string> = {
  wire: 2,
  empty: '',
  isEmpty: (value) => value === '',
  write: (value) => Buffer.from(value),
  read: ({ bytes }) => bytes.toString(),
};

export const bytes: Kind<Buffer> = {
  wire: 2,
  empty: NOTHING,
  isEmpty: (value) => value.length === 0,
  write: (value) => value,
  // A copy: a key that is kept must not keep the whole answer it came in.
  read: (raw) => Buffer.from(raw.bytes),
};

/** Bytes that are used before the next message is read: a part of the message, not a copy. */
export const view: Kind<Buffer> = { ...bytes, read: (raw) => raw.bytes };

export const flag: Kind<boolean> = {
  wire: 0,
  empty: false,
  isEmpty: (value) => !value,
  write: () => varint(1),
  read: (raw) => varintOf(raw) !== 0n,
};

/** A count, a revision or an enumeration: signed, within 2^53. */
export const number: Kind<number> = {
  wire: 0,
  empty: 0,
  isEmpty: (value) => value === 0,
  write: (value) => (value >= 0 ? varint(value) : largeVarint(BigInt.asUintN(64, BigInt(value)))),
  read: (raw) => (raw.large === undefined ? raw.small : Number(BigInt.asIntN(64, raw.large))),
};

/** A signed number of 64 bits, as nanoseconds since 1970 are: beyond 2^53. */
export const long: Kind<bigint> = {
  wire: 0,
  empty: 0n,
  isEmpty: (value) => value === 0n,
  write: (value) => largeVarint(BigInt.asUintN(64, value)),
  read: (raw) => BigInt.asIntN(64, varintOf(raw)),
};

/** 64 random bits: decimal text, as no number of JavaScript holds them. */
export const id: Kind<string> = {
  wire: 0,
  empty: '0',
  isEmpty: (value) => value === '0',
  write: (value) => largeVarint(BigInt(value)),
  read: (raw) => varintOf(raw).toString(),
};

export function field<T>(fieldNumber: number, kind: Kind<T>): Field<T> {
  return {
    number: fieldNumber,
    empty: () => kind.empty,
    write: (value) => (kind.isEmpty(value) ? [] : written(fieldNumber, kind, value)),
    read: (_before, raw) => kind.read(raw),
  };
}

export function repeated<T>(fieldNumber: number, kind: Kind<T>): Field<T[]> {
  return {
    number: fieldNumber,
    empty: () => [],
    write: (values) => values.flatMap((value) => written(fieldNumber, kind, value)),
    read: (before, raw) => {
      before.push(kind.read(raw));
      return before;
    },
  };
}

/** Numbers, as proto3 sends them: all in one field; a sender may send them one by one all the same. */
export function numbers(fieldNumber: number): Field<number[]> {
  return {
    number: fieldNumber,
    empty: () => [],
    write: (values) =>
      values.length === 0
        ? []
        : written(fieldNumber, bytes, Buffer.concat(values.map((value) => number.write(value)))),
    read: (before, raw) => {
      for (const value of raw.isBytes ? unpacked(raw.bytes) : [number.read(raw)]) {
        before.push(value);
      }
      return before;
    },
  };
}

function unpacked(packed: Buffer): number[] {
  const all: number[] = [];
  const reader = new FieldReader(packed);
  while (reader.nextNumber()) {
    all.push(number.read(reader));
  }
  return all;
}

/** Undefined where it is absent: an empty message is not. */
export function optional<T>(fieldNumber: number, kind: Kind<T>): Field<T | undefined> {
  return {
    number: fieldNumber,
    empty: () => undefined,
    write: (value) => (value === undefined ? [] : written(fieldNumber, kind, value)),
    read: (_before, raw) => kind.read(raw),
  };
}

/** `map<string, T>`, whose entries are messages of a key and a value. */
export function mapped<T>(fieldNumber: number, kind: Kind<T>): Field<Map<string, T>> {
  return entries(fieldNumber, message({ key: field(1, text), value: field(2, kind) }));
}

/** The same, for entries that may have no value. */
export function mappedIfThere<T>(fieldNumber: number, kind: Kind<T>): Field<Map<string, T | undefined>> {
  return entries(fieldNumber, message({ key: field(1, text), value: optional(2, kind) }));
}

function entries<T>(fieldNumber: number, entry: Message<{ key: string; value: T }>): Field<Map<string, T>> {
  return {
    number: fieldNumber,
    empty: () => new Map(),
    write: (values) =>
      [...values].flatMap(([key, value]) => written(fieldNumber, nested(entry), { key, value })),
    read: (before, raw) => {
      const { key, value } = entry.decode(raw.bytes);
      return before.set(key, value);
    },
  };
}

/** A message as a field of another. */
export function nested<T>(inner: Message<T>): Kind<T> {
  return {
    wire: 2,
    empty: inner.decode(NOTHING),
    isEmpty: () => false,
    // What is whole is sparse too; the compiler cannot see that of an open type.
    write: (value) => inner.encode(value as Sparse<T>),
    read: (raw) => inner.decode(raw.bytes),
  };
}

export function message<F extends Fields>(fields: F): Message<Values<F>> {
  const named = Object.entries(fields);
  const byNumber = new Map(named.map(([name, one]) => [one.number, { name, one }]));
  // An object is copied sooner than filled name by name; what is added to is made anew for each message.
  const empty = Object.fromEntries(named.map(([name, one]) => [name, one.empty()]));
  const growing = named.filter(([name, one]) => one.empty() !== empty[name]);
  return {
    encode: (value) =>
      Buffer.concat(
        named.flatMap(([name, one]) => {
          const given = Reflect.get(value, name) as unknown; // Its field knows the type.
          return given === undefined ? [] : one.write(given);
        }),
      ),
    decode: (encoded) => {
      const values: Record<string, unknown> = { ...empty };
      for (const [name, one] of growing) {
        values[name] = one.empty();
      }
      const fieldsOf = new FieldReader(encoded);
      while (fieldsOf.next()) {
        const known = byNumber.get(fieldsOf.number);
        if (known !== undefined) {
          values[known.name] = known.one.read(values[known.name], fieldsOf);
        }
      }
      // Filled from the very fields that the type is made of.
      return values as Values<F>;
    },
  };
}

function written<T>(fieldNumber: number, kind: Kind<T>, value: T): Buffer[] {
  const content = kind.write(value);
  const tag = varint(fieldNumber * 8 + kind.wire);
  return kind.wire === 0 ? [tag, content] : [tag, varint(content.length), content];
}

/** Numbers of one byte: all tags, most lengths. They are copied into each message. */
const ONE_BYTE: readonly Buffer[] = Array.from({ length: 0x80 }, (_, value) => Buffer.from([value]));

/** Of a whole number of at least 0. Most are small, and a build asks for thousands of files by theirs. */
function varint(value: number): Buffer {
  const one = ONE_BYTE[value];
  if (one !== undefined) {
    return one;
  }
  if (value >= 2 ** 28) {
    return largeVarint(BigInt(value));
  }
  const out: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    out.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  out.push(rest);
  return Buffer.from(out);
}

function largeVarint(value: bigint): Buffer {
  const out: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    out.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  out.push(Number(rest));
  return Buffer.from(out);
}

function varintOf({ small, large }: RawField): bigint {
  return large ?? BigInt(small);
}

/** The fields of a message one after the other, in the same object: a build's context is tens of thousands of them. */
class FieldReader implements RawField {
  readonly #encoded: Buffer;
  #at = 0;
  number = 0;
  small = 0;
  large: bigint | undefined;
  isBytes = false;
  bytes: Buffer = NOTHING;

  constructor(encoded: Buffer) {
    this.#encoded = encoded;
  }

  /** False at the end. */
  next(): boolean {
    while (this.#at < this.#encoded.length) {
      const tag = this.#length();
      this.number = Math.floor(tag / 8);
      switch (tag % 8) {
        case 0:
          this.isBytes = false;
          this.#varint();
          return true;
        case 2:
          this.isBytes = true;
          this.bytes = this.#take(this.#length());
          return true;
        // Fixed numbers: no field that is read is one.
        case 1:
          this.#take(8);
          break;
        case 5:
          this.#take(4);
          break;
        default:
          throw new RangeError(`decode a message: wire type ${tag % 8} of field ${this.number}`);
      }
    }
    return false;
  }

  /** One without a tag. False at the end. */
  nextNumber(): boolean {
    if (this.#at >= this.#encoded.length) {
      return false;
    }
    this.#varint();
    return true;
  }

  #length(): number {
    this.#varint();
    return this.large === undefined ? this.small : Number(this.large);
  }

  #varint(): void {
    this.small = 0;
    this.large = undefined;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      this.small |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        return;
      }
    }
    let value = BigInt(this.small);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.large = BigInt.asUintN(64, value);
        return;
      }
    }
    throw new RangeError('decode a message: a number of more than ten bytes');
  }

  #take(length: number): Buffer {
    const from = this.#at;
    if (length > this.#encoded.length - from) {
      throw new RangeError(`decode a message: field ${this.number} is cut short`);
    }
    this.#at += length;
    return this.#encoded.subarray(from, this.#at);
  }

  #byte(): number {
    const byte = this.#encoded[this.#at];
    if (byte === undefined) {
      throw new RangeError('decode a message: it is cut short');
    }
    this.#at += 1;
    return byte;
  }
}
