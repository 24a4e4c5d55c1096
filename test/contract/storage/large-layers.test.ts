import { createHash } from 'node:crypto';
import { closeSync, lstatSync, openSync, readdirSync, readFileSync, readSync, type Stats } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openBytesInRoot } from '../../../daemon/base/kernel/files/files.ts';
import { getAttribute } from '../../../daemon/base/kernel/files/attributes.ts';
import { TarParser, type TarMember } from '../../../storage/tar/parser.ts';
import { LayerRig } from '../../support/images/layer-rig.ts';
import { needs } from '../../support/needs.ts';
import { header, tar, withChecksum, type TarEntry } from '../../support/images/tar.ts';

const describe = needs('root');
const MiB = 2 ** 20;
/** The fault case says a million; the time goes with the number, the memory must not. */
const FILES = Number(process.env['BERTH_LAYER_FILES'] ?? 10_000);
const DEPTH = 4000;

describe('large and odd layers', () => {
  let rig: LayerRig;

  beforeEach(() => {
    rig = new LayerRig();
  });
  afterEach(() => {
    rig[Symbol.dispose]();
  }, 120_000);

  test('R37: many files take no memory to unpack and to write again', async () => {
    const entries: TarEntry[] = [];
    for (let index = 0; index < FILES; index += 1) {
      entries.push({ name: `d${index % 100}/f${index}`, content: `${index}` });
    }
    const bytes = tar(entries);
    const before = process.memoryUsage().rss;
    const layer = await rig.apply(bytes);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * MiB);
    const directories = readdirSync(layer.diff);
    expect(directories).toHaveLength(100);
    expect(readdirSync(path.join(layer.diff, 'd7'))).toHaveLength(FILES / 100);
    expect(rig.replayed(layer).equals(bytes)).toBe(true);
  }, 120_000);

  test(`R37: directories ${DEPTH} deep, files and links in them`, async () => {
    const deep = 'd/'.repeat(DEPTH);
    const entries: TarEntry[] = [
      ...Array.from({ length: DEPTH }, (_, index) => ({
        name: 'd/'.repeat(index + 1),
        mode: 0o700 + (index % 8),
      })),
      { name: `${deep}file`, content: 'at the bottom', mode: 0o4755 },
      { name: `${deep}hard`, type: '1', linkName: `${deep}file` },
      { name: 'up', type: '1', linkName: `${deep}file` },
      { name: `${deep}early`, type: '1', linkName: `${deep}late` },
      { name: `${deep}late`, content: 'late' },
      { name: `${deep}.wh.gone` },
      { name: `${'i/'.repeat(DEPTH)}implied`, content: 'implied' },
    ].map((entry) => ({ ...entry, ...longLink(entry) }));
    const bytes = tar(entries);
    const layer = await rig.apply(bytes);
    expect(readDeep(layer.diff, `${deep}file`)).toBe('at the bottom');
    expect(readDeep(layer.diff, `${deep}early`)).toBe('late');
    expect(readDeep(layer.diff, `${'i/'.repeat(DEPTH)}implied`)).toBe('implied');
    expect(lstatSync(path.join(layer.diff, 'up')).nlink).toBe(3);
    expect(layer.implied).toHaveLength(DEPTH + 1);
    expect(rig.replayed(layer).equals(bytes)).toBe(true);
  }, 240_000);

  test('R37: a directory that is deeper than a path can say gives way to a file like any other', async () => {
    const bytes = tar([
      { name: `${'d/'.repeat(2500)}f`, content: 'deep' },
      { name: 'd', content: 'x' },
    ]);
    const layer = await rig.apply(bytes);
    expect(readFileSync(path.join(layer.diff, 'd'), 'utf8')).toBe('x');
    expect(rig.replayed(layer).equals(bytes)).toBe(true);
  }, 120_000);

  test('R37: a name that nests deeper than any file system is for is refused', async () => {
    await expect(rig.apply(tar([{ name: `${'d/'.repeat(20_000)}f` }]))).rejects.toThrow(
      /nest deeper than 5000/,
    );
  });

  test('R37: a link on the way to what lies deep is not followed', async () => {
    const deep = 'd/'.repeat(3000);
    const entries = [
      { name: `${deep}d/file`, content: 'x' },
      { name: `${deep}link`, type: '2', linkName: '/' },
      { name: `${deep}link/through`, content: 'x' },
    ];
    await expect(rig.apply(tar(entries))).rejects.toThrow(/ELOOP/);
  });

  test('R37: names of any bytes, and of the longest kind', async () => {
    const names = [
      Buffer.from([0x66, 0xff, 0xfe, 0x80]),
      Buffer.from('line\nbreak\ttab\x01control\x7f'),
      Buffer.from('-rf --no-preserve-root *?[]{}$(x)`y`"\'\\'),
      Buffer.from(' spaces '),
      Buffer.alloc(255, 'n'),
      Buffer.from('é'.normalize('NFC')),
      Buffer.from('é'.normalize('NFD')),
    ];
    const bytes = tar(names.map((name, index) => ({ name, content: `${index}` })));
    const layer = await rig.apply(bytes);
    const found = readdirSync(layer.diff, { encoding: 'buffer' }).map((name) => name.toString('hex'));
    expect(found.toSorted()).toEqual(names.map((name) => name.toString('hex')).toSorted());
    expect(rig.replayed(layer).equals(bytes)).toBe(true);
  });

  test('R37: an attribute of 64 kB is kept where the disk can, or told of, and saved either way', async () => {
    const value = Buffer.alloc(65_000, Buffer.from([0, 10, 61, 255]));
    const bytes = tar([{ name: 'a', content: 'x', pax: { 'SCHILY.xattr.user.large': value } }]);
    const layer = await rig.apply(bytes);
    if (layer.warnings.length === 0) {
      expect(getAttribute(path.join(layer.diff, 'a'), 'user.large').equals(value)).toBe(true);
    } else {
      expect(layer.warnings).toEqual([
        expect.stringMatching(/"a": extended attribute user\.large not stored: /),
      ]);
    }
    expect(rig.replayed(layer).equals(bytes)).toBe(true);
  });

  test('R37: a file of 10 GiB, by size in base 256 and by pax, is read to its last byte', () => {
    const size = 10 * 2 ** 30 + 3;
    const piece = Buffer.alloc(8 * MiB);
    for (const entry of [{ name: 'b' }, { name: 'b', pax: { size: String(size) } }]) {
      const seen: TarMember[] = [];
      let bytes = 0;
      const parser = new TarParser(
        {
          raw: () => undefined,
          member: (member) => seen.push(member),
          data: (chunk) => {
            bytes += chunk.length;
          },
          memberEnd: () => undefined,
        },
        'test',
      );
      const head = entry.pax === undefined ? base256Size(size) : tar([entry], { close: false });
      parser.push(head);
      const padded = size + 509;
      for (let done = 0; done < padded; done += piece.length) {
        parser.push(piece.subarray(0, padded - done));
      }
      parser.push(tar([{ name: 'after' }]));
      parser.end();
      expect(seen.map(({ name, size: found }) => [name, found])).toEqual([
        ['b', size],
        ['after', 0],
      ]);
      expect(bytes).toBe(size);
    }
  });

  test('R37: everything that came first in one order comes last in another: same files, same bytes', async () => {
    const entries: TarEntry[] = [
      { name: 'z-link', type: '1', linkName: 'dir/target' },
      { name: 'dir/target', content: 'target', mode: 0o600 },
      { name: 'dir/', mode: 0o1777, mtime: 1_000_000_000 },
      { name: 'pipe', type: '6' },
      { name: 'block', type: '4', major: 7, minor: 300 },
      { name: 'symlink', type: '2', linkName: '../x' },
    ];
    for (const order of [entries, entries.toReversed()]) {
      const bytes = tar(order);
      const layer = await rig.apply(bytes);
      const at = (name: string): Stats => lstatSync(path.join(layer.diff, name));
      expect([at('z-link').ino === at('dir/target').ino, at('dir').mode & 0o7777, at('dir').mtimeMs]).toEqual(
        [true, 0o1777, 1e12],
      );
      expect(createHash('sha256').update(rig.replayed(layer)).digest('hex')).toBe(layer.diffId.slice(7));
    }
  });
});

/** Links of more than 100 bytes need a record of their own. */
function longLink(entry: TarEntry): Partial<TarEntry> {
  const target = String(entry.linkName ?? '');
  return target.length <= 100 ? {} : { pax: { linkpath: target, path: entry.name } };
}

function readDeep(root: string, name: string): string {
  const directory = openSync(root, 'r');
  const fd = openBytesInRoot(directory, name, 0);
  try {
    const bytes = Buffer.alloc(100);
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(fd);
    closeSync(directory);
  }
}

function base256Size(size: number): Buffer {
  const block = header({ name: 'b' });
  block.fill(0, 124, 136);
  block.writeBigUInt64BE(BigInt(size), 128);
  block[124] = 0x80;
  return withChecksum(block);
}
