/** A value that the forward protocol needs. Bytes are written as a string, as fluentd's Go client does with lines. */
export type Packable = string | number | Buffer | Packed | readonly Packable[] | { [key: string]: Packable };

/** Encoded already. */
export class Packed {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** MessagePack of strings, whole numbers from zero on, lists and maps: a page of the format, so no package for it. */
export function pack(value: Packable): Buffer {
  const parts: Buffer[] = [];
  write(value, parts);
  return Buffer.concat(parts);
}

function write(value: Packable, parts: Buffer[]): void {
  if (value instanceof Packed) {
    parts.push(value.bytes);
  } else if (Buffer.isBuffer(value)) {
    parts.push(head(value.length, { fixed: [0xa0, 31], one: 0xd9, two: 0xda, four: 0xdb }), value);
  } else if (typeof value === 'string') {
    write(Buffer.from(value), parts);
  } else if (typeof value === 'number') {
    parts.push(head(value, { fixed: [0x00, 127], one: 0xcc, two: 0xcd, four: 0xce }));
  } else if (Array.isArray(value)) {
    parts.push(head(value.length, { fixed: [0x90, 15], two: 0xdc, four: 0xdd }));
    value.forEach((item: Packable) => write(item, parts));
  } else {
    const entries = Object.entries(value);
    parts.push(head(entries.length, { fixed: [0x80, 15], two: 0xde, four: 0xdf }));
    for (const [key, item] of entries) {
      write(key, parts);
      write(item, parts);
    }
  }
}

/** EventTime of fluentd: seconds and nanoseconds, extension type 0. */
export function eventTime(nano: bigint): Packed {
  const bytes = Buffer.alloc(10);
  bytes.writeUInt16BE(0xd700, 0);
  bytes.writeUInt32BE(Number(nano / 1_000_000_000n), 2);
  bytes.writeUInt32BE(Number(nano % 1_000_000_000n), 6);
  return new Packed(bytes);
}

function head(
  size: number,
  form: { fixed: [base: number, max: number]; one?: number; two: number; four: number },
): Buffer {
  if (size <= form.fixed[1]) {
    return Buffer.from([form.fixed[0] + size]);
  }
  if (form.one !== undefined && size <= 0xff) {
    return Buffer.from([form.one, size]);
  }
  const isShort = size <= 0xffff;
  const bytes = Buffer.alloc(isShort ? 3 : 5);
  bytes[0] = isShort ? form.two : form.four;
  bytes.writeUIntBE(size, 1, isShort ? 2 : 4);
  return bytes;
}
