import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, ftruncateSync, lstatSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LayerRig } from '../../support/images/layer-rig.ts';
import { needs } from '../../support/needs.ts';
import { header, padded, tar, withChecksum, type TarEntry } from '../../support/images/tar.ts';

const describe = needs('root');
const MiB = 2 ** 20;
const GiB = 2 ** 30;

/** Name, size, and where data stands: the forms in which holes come. */
const FILES: readonly [string, number, readonly number[]][] = [
  ['hole-first', MiB, [MiB - 4096]],
  ['hole-last', MiB, [0]],
  ['only-a-hole', MiB, []],
  ['many-extents', 8 * MiB, Array.from({ length: 60 }, (_, index) => index * 128 * 1024)],
  ['above-8-GiB', 9 * GiB, [0, 8.5 * GiB]],
  ['odd-end', 3 * MiB + 77, [2 * MiB, 3 * MiB]],
];

describe('sparse files', () => {
  let rig: LayerRig;

  beforeEach(() => {
    rig = new LayerRig();
  });
  afterEach(() => {
    rig[Symbol.dispose]();
  });

  test.each([
    ['old GNU', ['--format=gnu']],
    ['pax 0.0', ['--format=pax', '--sparse-version=0.0']],
    ['pax 0.1', ['--format=pax', '--sparse-version=0.1']],
    ['pax 1.0', ['--format=pax', '--sparse-version=1.0']],
  ])(
    'R37: those of %s are unpacked with their holes and written again to the byte',
    async (_name, options) => {
      const source = path.join(rig.base, 'source');
      mkdirSync(path.join(source, 'd'.repeat(90)), { recursive: true });
      for (const [name, size, data] of FILES) {
        makeSparse(path.join(source, 'd'.repeat(90), name), size, data);
      }
      const bytes = execFileSync('tar', ['-C', source, ...options, '--sparse', '-cf', '-', '.'], {
        maxBuffer: 64 * MiB,
      });
      expect(bytes.length).toBeLessThan(4 * MiB);
      const layer = await rig.apply(bytes);
      for (const [name, size, data] of FILES) {
        const [was, is] = [source, layer.diff].map((root) => path.join(root, 'd'.repeat(90), name));
        const { size: isSize, blocks, mtimeMs } = lstatSync(is ?? '');
        // GNU's own format has whole seconds.
        expect([isSize, Math.floor(mtimeMs / 1000)], name).toEqual([
          size,
          Math.floor(lstatSync(was ?? '').mtimeMs / 1000),
        ]);
        expect(blocks * 512, name).toBeLessThanOrEqual(data.length * 8192 + 8192);
        expect(sampleOf(is ?? '', size, data), name).toBe(sampleOf(was ?? '', size, data));
      }
      expect(rig.replayed(layer).equals(bytes)).toBe(true);
    },
  );

  test.each<[string, Buffer, RegExp]>([
    ['extents that overlap', pax01('0,512,256,512', 1024), /overlaps/],
    ['extents out of order', pax01('4096,512,0,512', 1024), /overlaps/],
    ['an extent beyond the end', pax01('0,512,1048064,1024', 1536), /beyond the end/],
    ['an extent that begins beyond the end', pax01('2000000,0', 0), /beyond the end/],
    ['a negative offset', pax01('-512,512', 512), /no number/],
    ['a number of other digits', pax01('0x0,512', 512), /no number/],
    ['an offset that wraps', pax01('18446744073709551615,512', 512), /no number/],
    ['a sum that wraps', pax01('512,9007199254740991', 512), /beyond the end/],
    ['an offset without a size', pax01('0,512,1024', 512), /without a size/],
    ['less data than the extents', pax01('0,512', 256), /extents have 512 bytes, the archive 256/],
    ['more data than the extents', pax01('0,512', 1024), /extents have 512 bytes, the archive 1024/],
    ['a size of many terabytes', pax01('0,512', 512, '9007199254740991'), /out of range/],
    ['no size', tar([{ name: 's', pax: { 'GNU.sparse.map': '0,0' } }]), /size -1 is out of range/],
    ['a sparse directory', tar([{ name: 's/', pax: sparse01('0,0') }]), /a sparse directory/],
    ['a sparse link', tar([{ name: 's', type: '2', linkName: 'x', pax: sparse01('0,0') }]), /sparse symlink/],
    ['sizes and offsets that do not take turns', pax00(), /do not take turns/],
    ['a version that is not known', pax10('1\n0\n1\n', { 'GNU.sparse.major': '2' }), /version 2\.0/],
    ['a record that is not known', pax10('', { 'GNU.sparse.dumpdir': 'x' }), /unknown record/],
    ['a map that is no list', pax10('x'.repeat(512)), /no list of numbers/],
    ['a map with a negative number', pax10('1\n-1\n5\n'), /no number/],
    ['a map that announces a million', pax10('1000000\n'), /more than 100000 extents/],
    ['a map that does not end', pax10(`0000999\n${'0\n'.repeat(252)}`), /does not end/],
    ['type S in ustar', tar([{ name: 's', type: 'S' }]), /GNU's format only/],
    [
      'GNU extents that overlap',
      gnu(
        [
          [0, 1024],
          [512, 512],
        ],
        4096,
        1536,
      ),
      /overlaps/,
    ],
    ['a GNU extent beyond the end', gnu([[4096, 512]], 4096, 512), /beyond the end/],
    ['a negative GNU size', gnu([[0, 0]], -1, 0), /out of range/],
    ['a negative GNU offset', gnu([[-512, 512]], 4096, 512), /out of range/],
    ['a GNU map without end', gnu([[0, 0]], 4096, 0, { isExtended: true }), /cut off/],
  ])('class 13: %s is refused', async (_title, bytes, message) => {
    await expect(rig.apply(bytes)).rejects.toThrow(message);
  });

  test('class 13: a GNU map of too many blocks is refused before it fills the memory', async () => {
    const block = Buffer.alloc(512);
    for (let index = 0; index < 21; index += 1) {
      block.write('00000000000\0', index * 24);
      block.write('00000000000\0', index * 24 + 12);
    }
    block[504] = 1;
    const bytes = Buffer.concat([
      gnu([[0, 0]], 4096, 0, { isExtended: true }).subarray(0, 512),
      ...Array.from({ length: 6000 }, () => block),
    ]);
    await expect(rig.apply(bytes)).rejects.toThrow(/more than 100000 extents/);
  });
});

function makeSparse(file: string, size: number, data: readonly number[]): void {
  const fd = openSync(file, 'wx');
  for (const at of data) {
    writeSync(fd, Buffer.from(`data at ${at}`), 0, undefined, at);
  }
  ftruncateSync(fd, size);
  closeSync(fd);
}

/** Digest of a file up to 16 MiB, of the surroundings of its data when it is larger. */
function sampleOf(file: string, size: number, data: readonly number[]): string {
  if (size <= 16 * MiB) {
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  }
  return data
    .map((at) =>
      execFileSync('dd', [`if=${file}`, 'bs=4096', `skip=${at / 4096}`, 'count=2', 'status=none']).toString(
        'hex',
      ),
    )
    .join(' ');
}

function sparse01(map: string, size = String(MiB)): Record<string, string> {
  return { 'GNU.sparse.size': size, 'GNU.sparse.numblocks': '1', 'GNU.sparse.map': map };
}

function pax01(map: string, stored: number, size?: string): Buffer {
  return tar([{ name: 's', content: Buffer.alloc(stored, 'x'), pax: sparse01(map, size) }]);
}

function pax00(): Buffer {
  const entry: TarEntry = { name: 's', pax: { 'GNU.sparse.size': '512', 'GNU.sparse.numbytes': '0' } };
  return tar([entry]);
}

function pax10(map: string, records: Record<string, string> = {}): Buffer {
  const pax = {
    'GNU.sparse.major': '1',
    'GNU.sparse.minor': '0',
    'GNU.sparse.name': 's',
    'GNU.sparse.realsize': '4096',
    ...records,
  };
  return tar([{ name: 'x', content: padded(Buffer.from(map)), pax }]);
}

/** Type `S` with up to four extents. */
function gnu(
  extents: readonly (readonly [number, number])[],
  size: number,
  stored: number,
  { isExtended = false } = {},
): Buffer {
  const block = header({ name: 's', type: 'S', content: Buffer.alloc(stored) });
  block.write('ustar  \0', 257, 'latin1');
  block.fill(0, 345);
  for (const [index, numbers] of extents.entries()) {
    for (const [half, value] of numbers.entries()) {
      base256(block, 386 + index * 24 + half * 12, value);
    }
  }
  block[482] = isExtended ? 1 : 0;
  base256(block, 483, size);
  return Buffer.concat([withChecksum(block), padded(Buffer.alloc(stored, 'x'))]);
}

function base256(block: Buffer, offset: number, value: number): void {
  block.fill(value < 0 ? 0xff : 0, offset, offset + 12);
  block.writeBigInt64BE(BigInt(value), offset + 4);
  block[offset] = value < 0 ? 0xff : 0x80;
}
