/**
 * Writes tar archives by hand, so that tests can also write broken and hostile ones, and names that are no UTF-8. It
 * shares no code with the engine and needs no package: the quick start uses it, which installs none of the tests'.
 * Trees on disk are packed by `trees.ts`; unit/support/tar.test.ts compares what is written here with other programs.
 */

import { untar } from './untar.ts';

export interface TarEntry {
  name: string | Buffer;
  /** ustar type flag; `0` by default, `5` when the name ends in a slash. */
  type?: string;
  content?: Buffer | string;
  linkName?: string | Buffer;
  mode?: number;
  uid?: number;
  gid?: number;
  /** Seconds since the epoch. */
  mtime?: number;
  major?: number;
  minor?: number;
  /** Records of an extended header put in front of this entry; values may be binary. */
  pax?: Record<string, Buffer | string>;
  /** Written into the size field instead of the content's length. */
  claimedSize?: number;
}

/** The archive's bytes, with its two closing zero blocks unless `close` is false. */
export function tar(entries: readonly TarEntry[], options: { close?: boolean } = {}): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    if (entry.pax !== undefined) {
      const records = Buffer.concat(Object.entries(entry.pax).map(([key, value]) => paxRecord(key, value)));
      parts.push(header({ name: 'PaxHeaders/0', type: 'x', content: records }), padded(records));
    }
    const content = Buffer.from(entry.content ?? '');
    const long = Buffer.byteLength(entry.name) > 100;
    if (long && entry.pax?.['path'] === undefined) {
      const records = paxRecord('path', entry.name);
      parts.push(header({ name: 'PaxHeaders/0', type: 'x', content: records }), padded(records));
    }
    parts.push(header(entry), padded(content));
  }
  if (options.close !== false) {
    parts.push(Buffer.alloc(1024));
  }
  return Buffer.concat(parts);
}

/** One `LENGTH KEY=VALUE\n` record; its length counts itself. */
export function paxRecord(key: string, value: Buffer | string): Buffer {
  const body = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
  let length = body.length + 1;
  while (String(length).length + body.length !== length) {
    length = String(length).length + body.length;
  }
  return Buffer.concat([Buffer.from(String(length)), body]);
}

/** One 512-byte ustar header with a right checksum. */
export function header(entry: TarEntry): Buffer {
  const block = Buffer.alloc(512);
  const name = Buffer.from(entry.name);
  const content = Buffer.from(entry.content ?? '');
  const type = entry.type ?? (name.at(-1) === 0x2f ? '5' : '0');
  name.copy(block, 0, 0, Math.min(100, name.length));
  octal(block, 100, 8, entry.mode ?? (type === '5' ? 0o755 : 0o644));
  octal(block, 108, 8, entry.uid ?? 0);
  octal(block, 116, 8, entry.gid ?? 0);
  octal(block, 124, 12, entry.claimedSize ?? content.length);
  octal(block, 136, 12, entry.mtime ?? 1_500_000_000);
  block.write(type, 156, 'latin1');
  Buffer.from(entry.linkName ?? '').copy(block, 157, 0, 100);
  block.write('ustar\u000000', 257, 'latin1');
  octal(block, 329, 8, entry.major ?? 0);
  octal(block, 337, 8, entry.minor ?? 0);
  return withChecksum(block);
}

/** Puts the checksum of a header into it. */
export function withChecksum(block: Buffer): Buffer {
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** Content followed by zeros up to the next block boundary. */
export function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

function octal(block: Buffer, offset: number, length: number, value: number): void {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
}

/** Contents of the regular files in an archive; for what the engine itself has written. */
export function readTar(bytes: Buffer): Map<string, Buffer> {
  return new Map(
    untar(bytes).flatMap(({ name, type, content }): [string, Buffer][] =>
      type === 'file' ? [[name, content]] : [],
    ),
  );
}
