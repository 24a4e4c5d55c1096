import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Payloads are most of what is kept, and repeat themselves: the fastest level makes a fifth of them. */
const FASTEST = 1;
/** A payload behind the rest, packed by itself. No packed bytes begin so: it names a kind of block that is none. */
const APART = 0x07;
const HEAD_BYTES = 5;

export function packed(text: string): Buffer {
  return deflateRawSync(text, { level: FASTEST });
}

export function unpacked(bytes: Buffer): string {
  return inflateRawSync(bytes).toString('utf8');
}

/** Text and a payload that was packed before, in one. */
export function joined(text: string, payload: Buffer): Buffer {
  const bytes = Buffer.from(text);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(APART);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes, payload]);
}

/** What `joined` made; undefined = it is one packed text, as older daemons wrote it. */
export function parted(bytes: Buffer): { text: string; payload: string } | undefined {
  if (bytes[0] !== APART) {
    return undefined;
  }
  const end = HEAD_BYTES + bytes.readUInt32BE(1);
  return { text: bytes.toString('utf8', HEAD_BYTES, end), payload: unpacked(bytes.subarray(end)) };
}
