import { isIpv4 } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import { ipv6Bytes } from '../../base/addresses/ipv6.ts';

/**
 * The little of DNS (RFC 1035) that answering and forwarding takes. Pure. Messages of containers and servers are read
 * within their bounds: at most 255 bytes of name, no compression in a question, one question.
 */
export const TYPE = { a: 1, ptr: 12, aaaa: 28 } as const;
export const RCODE = { noError: 0, formatError: 1, serverFailure: 2, noName: 3, refused: 5 } as const;

const HEADER_BYTES = 12;
/** Of a record, before its data. */
const RECORD_BYTES = 12;
const NAME_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;
const CLASS_IN = 1;
const FLAG = { response: 0x8000, opcode: 0x7800, truncated: 0x0200, recursionDesired: 0x0100 } as const;
const RECURSION_AVAILABLE = 0x0080;
/** Points at the name of the question. */
const QUESTION_NAME = 0xc00c;

/** A question as it came. */
export interface Query {
  id: number;
  flags: number;
  /** In lower case, without the final dot; `.` alone is empty. */
  name: string;
  type: number;
  /** Name, type and class as bytes. */
  question: Buffer;
}

export type RecordData = { kind: 'address'; address: IpAddress } | { kind: 'pointer'; name: string };

interface EncodedData {
  type: number;
  data: Buffer;
}

/** undefined for anything that is not a query with one readable question of class IN. */
export function parseQuery(message: Buffer): Query | undefined {
  if (message.length < HEADER_BYTES || message.readUInt16BE(4) !== 1) {
    return undefined;
  }
  const flags = message.readUInt16BE(2);
  if ((flags & (FLAG.response | FLAG.opcode)) !== 0) {
    return undefined;
  }
  const read = readName(message, HEADER_BYTES);
  if (
    read === undefined ||
    read.end + 4 > message.length ||
    message.readUInt16BE(read.end + 2) !== CLASS_IN
  ) {
    return undefined;
  }
  return {
    id: message.readUInt16BE(0),
    flags,
    name: read.name,
    type: message.readUInt16BE(read.end),
    question: message.subarray(HEADER_BYTES, read.end + 4),
  };
}

/**
 * An answer with these records; those of them that fit into `bytesMax`, and the mark "truncated", when there are more:
 * a resolver that knows no TCP takes these.
 */
export function encodeAnswer(
  query: Query,
  rcode: number,
  answer: { records: readonly RecordData[]; ttlS: number; bytesMax: number },
): Buffer {
  const bare = HEADER_BYTES + query.question.length;
  const records: EncodedData[] = [];
  let size = bare;
  for (const record of answer.records) {
    const encoded = encodeData(record);
    if (size + RECORD_BYTES + encoded.data.length > answer.bytesMax) {
      break;
    }
    size += RECORD_BYTES + encoded.data.length;
    records.push(encoded);
  }
  const isTooLong = records.length < answer.records.length;
  const copied = query.flags & FLAG.recursionDesired;
  // One buffer, every byte of it written: this is the path that containers ask on thousands of times a second.
  const bytes = Buffer.allocUnsafe(size);
  bytes.writeUInt16BE(query.id, 0);
  bytes.writeUInt16BE(
    FLAG.response | copied | RECURSION_AVAILABLE | (isTooLong ? FLAG.truncated : 0) | rcode,
    2,
  );
  bytes.writeUInt16BE(1, 4);
  bytes.writeUInt16BE(records.length, 6);
  bytes.writeUInt32BE(0, 8);
  query.question.copy(bytes, HEADER_BYTES);
  let at = bare;
  for (const record of records) {
    at = writeRecord(bytes, at, record, answer.ttlS);
  }
  return bytes;
}

/** The answer to something that cannot be read: `format error` with its id, or nothing when not even that is there. */
export function formatError(message: Buffer): Buffer | undefined {
  if (message.length < HEADER_BYTES || (message.readUInt16BE(2) & FLAG.response) !== 0) {
    return undefined;
  }
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(message.readUInt16BE(0), 0);
  header.writeUInt16BE(FLAG.response | RCODE.formatError, 2);
  return header;
}

/** True when `message` answers `question` asked with `id`: a sender that did not see the question cannot write it. */
export function isAnswerTo(message: Buffer, id: number, question: Buffer): boolean {
  if (message.length < HEADER_BYTES + question.length || message.readUInt16BE(0) !== id) {
    return false;
  }
  const asked = message.subarray(HEADER_BYTES, HEADER_BYTES + question.length);
  return (
    (message.readUInt16BE(2) & FLAG.response) !== 0 &&
    message.readUInt16BE(4) === 1 &&
    // Servers may answer in another case than they were asked in.
    asked.toString('latin1').toLowerCase() === question.toString('latin1').toLowerCase()
  );
}

export function rcodeOf(message: Buffer): number {
  return message.readUInt16BE(2) & 0xf;
}

/** A copy with another id. */
export function withId(message: Buffer, id: number): Buffer {
  const copy = Buffer.from(message);
  copy.writeUInt16BE(id, 0);
  return copy;
}

/** `4.3.2.1.in-addr.arpa` or the nibbles of `ip6.arpa` as the address in dotted or colon form; undefined = neither. */
export function addressOfPointer(name: string): string | undefined {
  const four = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.in-addr\.arpa$/.exec(name);
  if (four) {
    return four.slice(1).toReversed().join('.');
  }
  if (/^(?:[0-9a-f]\.){32}ip6\.arpa$/.test(name)) {
    const nibbles = name.split('.').slice(0, 32).toReversed().join('');
    return nibbles.replaceAll(/(.{4})(?!$)/g, '$1:');
  }
  return undefined;
}

function readName(message: Buffer, start: number): { name: string; end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > LABEL_BYTES_MAX || at + length - start > NAME_BYTES_MAX) {
      return undefined;
    }
    at += 1;
    if (length === 0) {
      return { name: labels.join('.').toLowerCase(), end: at };
    }
    if (at + length > message.length) {
      return undefined;
    }
    labels.push(message.toString('latin1', at, at + length));
    at += length;
  }
}

/** Returns where the next one begins. */
function writeRecord(bytes: Buffer, at: number, { type, data }: EncodedData, ttlS: number): number {
  bytes.writeUInt16BE(QUESTION_NAME, at);
  bytes.writeUInt16BE(type, at + 2);
  bytes.writeUInt16BE(CLASS_IN, at + 4);
  bytes.writeUInt32BE(ttlS, at + 6);
  bytes.writeUInt16BE(data.length, at + 10);
  data.copy(bytes, at + RECORD_BYTES);
  return at + RECORD_BYTES + data.length;
}

function encodeData(record: RecordData): EncodedData {
  if (record.kind === 'pointer') {
    const labels = record.name.split('.').map((label) => {
      const bytes = Buffer.from(label, 'latin1').subarray(0, LABEL_BYTES_MAX);
      return Buffer.concat([Buffer.of(bytes.length), bytes]);
    });
    return { type: TYPE.ptr, data: Buffer.concat([...labels, Buffer.of(0)]) };
  }
  if (!isIpv4(record.address)) {
    return { type: TYPE.aaaa, data: ipv6Bytes(record.address) };
  }
  const data = Buffer.allocUnsafe(4);
  data.writeUInt32BE(record.address);
  return { type: TYPE.a, data };
}
