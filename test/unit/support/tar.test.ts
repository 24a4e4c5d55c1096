import { execFileSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract, pack } from 'tar-stream';
import { expect, test } from 'vitest';
import { tar, type TarEntry } from '../../support/images/tar.ts';
import { untar } from '../../support/images/untar.ts';

/** The tests' own writer and reader of tars, seen by programs of others. */

const ENTRIES: TarEntry[] = [
  { name: 'd/', mode: 0o2750, uid: 5, gid: 6, mtime: 1_000_000_000 },
  { name: 'd/file', content: 'content', mode: 0o4711, uid: 1000, gid: 1001, mtime: 1_100_000_000 },
  { name: 'd/long'.padEnd(180, 'x'), content: 'y'.repeat(600) },
  { name: 'd/link', type: '2', linkName: '../outside' },
  { name: 'd/hard', type: '1', linkName: 'd/file' },
  { name: 'd/device', type: '3', major: 1, minor: 3 },
  { name: 'd/fifo', type: '6' },
];

const utf8 = (name: string): string => Buffer.from(name, 'latin1').toString();

/** As tar-stream calls them. */
const NAMES = new Map([
  ['character-device', 'character'],
  ['block-device', 'block'],
]);

async function readByTarStream(bytes: Buffer): Promise<unknown[]> {
  const found: unknown[] = [];
  const reader = extract();
  Readable.from([bytes]).pipe(reader);
  for await (const entry of reader) {
    const { name, type, linkname, mode, uid, gid, mtime } = entry.header;
    const content = await buffer(entry);
    found.push({
      name,
      type: NAMES.get(type ?? '') ?? type,
      linkName: linkname ?? '',
      mode,
      uid,
      gid,
      seconds: (mtime?.getTime() ?? 0) / 1000,
      content: content.toString(),
    });
  }
  return found;
}

function readByOwnHand(bytes: Buffer): unknown[] {
  return untar(bytes).map(({ name, type, linkName, mode, uid, gid, mtime: { seconds }, content }) => ({
    name,
    type,
    linkName,
    mode,
    uid,
    gid,
    seconds,
    content: content.toString(),
  }));
}

test('tar of the tests: tar-stream and the own reader find the same in what the own writer wrote', async () => {
  const bytes = tar(ENTRIES);
  const read = readByOwnHand(bytes);
  expect(await readByTarStream(bytes)).toEqual(read);
  expect(read[1]).toEqual({
    name: 'd/file',
    type: 'file',
    linkName: '',
    mode: 0o4711,
    uid: 1000,
    gid: 1001,
    seconds: 1_100_000_000,
    content: 'content',
  });
});

test('tar of the tests: the own reader reads what tar-stream wrote, long names too', async () => {
  const writer = pack();
  writer.entry({ name: 'a/', type: 'directory', mode: 0o755 });
  writer.entry({ name: `a/${'ä'.repeat(120)}`, uid: 7 }, 'one');
  writer.entry({ name: `${'p'.repeat(90)}/${'q'.repeat(90)}` }, 'two');
  writer.finalize();
  const bytes = await buffer(writer);
  expect(untar(bytes).map(({ name, uid, content }) => [utf8(name), uid, content.toString()])).toEqual([
    ['a/', 0, ''],
    [`a/${'ä'.repeat(120)}`, 7, 'one'],
    [`${'p'.repeat(90)}/${'q'.repeat(90)}`, 0, 'two'],
  ]);
});

test('tar of the tests: attributes are bytes, and GNU tar lists what the own writer wrote', () => {
  const value = Buffer.from('0100000200ff0400', 'hex');
  const bytes = tar([{ name: 'a', content: 'x', pax: { 'SCHILY.xattr.security.capability': value } }]);
  expect(untar(bytes)[0]?.attributes).toEqual(new Map([['security.capability', value]]));
  const listed = execFileSync('tar', ['-tf', '-'], { input: tar(ENTRIES), encoding: 'utf8' });
  expect(listed.split('\n').filter((line) => line !== '')).toEqual(ENTRIES.map(({ name }) => String(name)));
});
