import { align, attributeText, decodeAttributes, encodeAttributes } from './attributes.ts';
import type { Attribute } from './attributes.ts';

/** Netlink messages as bytes (linux/netlink.h, struct nlmsghdr). Pure: the socket is in netlink-socket.ts. */
export interface NetlinkRequest {
  type: number;
  flags: number;
  /** The family's fixed header (`struct ifinfomsg`, ...). */
  header: Buffer;
  attributes: readonly Attribute[];
}

export interface NetlinkMessage {
  type: number;
  flags: number;
  sequence: number;
  payload: Buffer;
}

/** NLM_F_* */
export const FLAG = {
  request: 0x1,
  acknowledge: 0x4,
  /** Of a get: all objects (NLM_F_ROOT | NLM_F_MATCH). */
  dump: 0x300,
  /** Of a new: replace what is there. */
  replace: 0x100,
  /** Of a new: fail when it is there. */
  exclusive: 0x200,
  create: 0x400,
} as const;

export const MESSAGE = { error: 2, done: 3 } as const;

const HEADER_BYTES = 16;
/** Flags of an error answer: the request is not repeated in it, attributes follow. */
const CAPPED = 0x100;
const HAS_ATTRIBUTES = 0x200;
const NLMSGERR_ATTR_MSG = 1;

export function encodeMessage(request: NetlinkRequest, sequence: number): Buffer {
  const attributes = encodeAttributes(request.attributes);
  const bytes = Buffer.alloc(HEADER_BYTES + align(request.header.length) + attributes.length);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(request.type, 4);
  bytes.writeUInt16LE(request.flags | FLAG.request, 6);
  bytes.writeUInt32LE(sequence, 8);
  request.header.copy(bytes, HEADER_BYTES);
  attributes.copy(bytes, HEADER_BYTES + align(request.header.length));
  return bytes;
}

/** All messages of one datagram. */
export function decodeMessages(datagram: Buffer): NetlinkMessage[] {
  const messages: NetlinkMessage[] = [];
  let offset = 0;
  while (offset + HEADER_BYTES <= datagram.length) {
    const length = datagram.readUInt32LE(offset);
    if (length < HEADER_BYTES || offset + length > datagram.length) {
      break;
    }
    messages.push({
      type: datagram.readUInt16LE(offset + 4),
      flags: datagram.readUInt16LE(offset + 6),
      sequence: datagram.readUInt32LE(offset + 8),
      payload: datagram.subarray(offset + HEADER_BYTES, offset + length),
    });
    offset += align(length);
  }
  return messages;
}

/** An answer of type `error`: errno (0 = acknowledged) and the kernel's own words, where it has some. */
export function decodeAnswer(message: NetlinkMessage): { errno: number; text: string } {
  const errno = Math.abs(message.payload.readInt32LE(0));
  if ((message.flags & HAS_ATTRIBUTES) === 0) {
    return { errno, text: '' };
  }
  const repeated = message.payload.readUInt32LE(4);
  const start = 4 + ((message.flags & CAPPED) === 0 ? align(repeated) : HEADER_BYTES);
  const attributes = decodeAttributes(message.payload.subarray(start));
  return { errno, text: attributeText(attributes.get(NLMSGERR_ATTR_MSG)) };
}
