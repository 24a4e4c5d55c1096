/**
 * Netlink attributes (linux/netlink.h, struct nlattr): length and type as host-order 16-bit numbers, then the
 * value, padded to four bytes. Pure. Every architecture that we run on is little-endian.
 */
export interface Attribute {
  type: number;
  value: Buffer;
}

const HEADER_BYTES = 4;
const NESTED = 0x8000;
const TYPE_MASK = 0x3fff;

/** An attribute of each shape that the kernel's families use. */
export const attribute = {
  bytes: (type: number, value: Buffer): Attribute => ({ type, value }),
  u8: (type: number, value: number): Attribute => ({ type, value: Buffer.of(value) }),
  u16: (type: number, value: number): Attribute => ({ type, value: Buffer.of(value & 0xff, value >> 8) }),
  u32: (type: number, value: number): Attribute => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return { type, value: bytes };
  },
  /** Network byte order: IPv4 addresses, and nearly everything of netfilter. */
  u32be: (type: number, value: number): Attribute => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return { type, value: bytes };
  },
  /** With its terminating zero. */
  text: (type: number, value: string): Attribute => ({ type, value: Buffer.from(`${value}\0`) }),
  nested: (type: number, attributes: readonly Attribute[], header?: Buffer): Attribute => ({
    type: type | NESTED,
    value: Buffer.concat([header ?? Buffer.alloc(0), encodeAttributes(attributes)]),
  }),
};

export function encodeAttributes(attributes: readonly Attribute[]): Buffer {
  const size = attributes.reduce((sum, { value }) => sum + align(HEADER_BYTES + value.length), 0);
  const bytes = Buffer.alloc(size);
  let offset = 0;
  for (const { type, value } of attributes) {
    bytes.writeUInt16LE(HEADER_BYTES + value.length, offset);
    bytes.writeUInt16LE(type, offset + 2);
    value.copy(bytes, offset + HEADER_BYTES);
    offset += align(HEADER_BYTES + value.length);
  }
  return bytes;
}

/**
 * Type (without its flag bits) -> value; the last one wins where a type repeats. Stops at a malformed length.
 */
export function decodeAttributes(bytes: Buffer): Map<number, Buffer> {
  return new Map(decodeList(bytes).map(({ type, value }) => [type & TYPE_MASK, value]));
}

/** All of them in their order, with the flag bits of their types. Stops at a malformed length. */
export function decodeList(bytes: Buffer): Attribute[] {
  const attributes: Attribute[] = [];
  let offset = 0;
  while (offset + HEADER_BYTES <= bytes.length) {
    const length = bytes.readUInt16LE(offset);
    if (length < HEADER_BYTES || offset + length > bytes.length) {
      break;
    }
    attributes.push({
      type: bytes.readUInt16LE(offset + 2),
      value: bytes.subarray(offset + HEADER_BYTES, offset + length),
    });
    offset += align(length);
  }
  return attributes;
}

/** The text of an attribute up to its terminating zero. */
export function attributeText(value: Buffer | undefined): string {
  return value === undefined ? '' : value.toString('utf8').replace(/\0.*$/s, '');
}

/** Netlink pads everything to four bytes. */
export function align(length: number): number {
  return (length + 3) & ~3;
}
