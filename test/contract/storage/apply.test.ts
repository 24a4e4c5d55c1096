import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { getAttribute, listAttributes } from '../../../daemon/base/kernel/files/attributes.ts';
import { compressed } from '../../support/images/compressors.ts';
import { LayerRig } from '../../support/images/layer-rig.ts';
import { needs } from '../../support/needs.ts';
import { header, padded, paxRecord, tar, withChecksum, type TarEntry } from '../../support/images/tar.ts';

const describe = needs('root');

const up = '../../../../../../../../../../..';

function evil(target: string): TarEntry {
  return { name: 'out', type: '2', linkName: target };
}

describe('apply: a layer on a real disk', () => {
  let rig: LayerRig;

  beforeEach(() => {
    rig = new LayerRig();
  });

  afterEach(() => {
    // Whatever a layer did: outside of its directory nothing has changed.
    expect(rig.canary.changes()).toBeUndefined();
    rig[Symbol.dispose]();
  });

  test.each<[string, (canaryPath: string) => Buffer, RegExp]>([
    ['..', () => tar([{ name: '../escaped', content: 'x' }]), /entry "..\/escaped".*lead out/],
    ['.. within', () => tar([{ name: 'a/../../escaped' }]), /lead out/],
    ['a hard link with ..', () => tar([{ name: 'a', type: '1', linkName: '../x' }]), /lead out/],
    [
      'a hard link to an absolute path outside',
      (path) => tar([{ name: 'a', type: '1', linkName: `${path}/file` }]),
      /hard link to .* not there/,
    ],
    [
      'a hard link through a link that points outside',
      (path) => tar([evil(path), { name: 'a', type: '1', linkName: 'out/file' }]),
      /not there/,
    ],
    ['a whiteout of ..', () => tar([{ name: '.wh...' }]), /whiteout/],
    ['a whiteout of nothing', () => tar([{ name: 'a/.wh.' }]), /whiteout/],
    ['an empty name', () => tar([{ name: '' }]), /must not be empty/],
    ['a NUL in a pax path', () => tar([{ name: 'a', pax: { path: 'a\0b' } }]), /NUL/],
    [
      'a root that is no directory',
      () => tar([{ name: './', type: '2', linkName: '/' }]),
      /root of the layer/,
    ],
    ['a file below a file', () => tar([{ name: 'a' }, { name: 'a/b' }]), /entry "a\/b": .*ENOTDIR/],
    [
      'trusted attributes',
      () => tar([{ name: 'a', pax: { 'SCHILY.xattr.trusted.overlay.redirect': '/' } }]),
      /not allowed/,
    ],
    [
      'overlay attributes',
      () => tar([{ name: 'a/', pax: { 'SCHILY.xattr.user.overlay.opaque': 'y' } }]),
      /not allowed/,
    ],
    ['a device out of range', () => tar([{ name: 'd', type: '3', major: 70_000 }]), /out of range/],
    ['an unknown type', () => tar([{ name: 'v', type: 'V' }]), /type "V"/],
    ['a negative size', () => negativeSize(), /negative size/],
    ['a malformed pax record', () => paxOf(Buffer.from('99 path=a\n')), /malformed pax/],
    [
      'a pax header too large',
      () => header({ name: 'x', type: 'x', claimedSize: 2 ** 30 }),
      /extended header of/,
    ],
    ['a cut off content', () => tar([{ name: 'a', content: 'abc' }]).subarray(0, 514), /cut off/],
    ['a size larger than the tar', () => tar([{ name: 'a', claimedSize: 5000 }]), /cut off/],
    ['a wrong checksum', () => wrongChecksum(), /checksum/],
    ['a single zero block', () => Buffer.concat([Buffer.alloc(512), tar([{ name: 'a' }])]), /zero block/],
    ['a cut off gzip', () => compressed('gzip', tar([{ name: 'a' }])).subarray(0, 40), /gzip/],
    [
      'garbage after gzip',
      () => Buffer.concat([compressed('gzip', tar([{ name: 'a' }])), Buffer.from('xx')]),
      /gzip/,
    ],
    ['a cut off xz', () => compressed('xz', tar([{ name: 'a' }])).subarray(0, 40), /xz/],
    ['no tar at all', () => Buffer.alloc(600, 'x'), /checksum/],
    ['a link to itself', () => tar([{ name: 'a', type: '1', linkName: './a' }]), /itself/],
    [
      'a symbolic link in a circle',
      () => tar([{ name: 'a', type: '2', linkName: 'a' }, { name: 'a/b' }]),
      /ELOOP/,
    ],
  ])('refuses %s', async (_title, make, message) => {
    await expect(rig.apply(make(rig.canary.folder))).rejects.toThrow(message);
    expect(existsSync(join(rig.base, 'escaped'))).toBe(false);
  });

  test.each<[string, (canaryPath: string) => TarEntry[], string[]]>([
    ['an absolute name', () => [{ name: '/etc/x', content: 'x' }], ['etc/x']],
    ['a parent that is an absolute link', (path) => [evil(path), { name: `out/file`, content: 'x' }], []],
    [
      'a parent link that climbs',
      () => [evil(`${up}/tmp`), { name: 'tmp/' }, { name: 'out/file', content: 'x' }],
      ['tmp/file'],
    ],
    [
      'a name that is a link: replaced, not followed',
      (path) => [evil(`${path}/file`), { name: 'out', content: 'x' }],
      ['out'],
    ],
    [
      'a directory on a link: replaced, not followed',
      (path) => [evil(path), { name: 'out/', mode: 0o777 }, { name: 'out/x' }],
      ['out/x'],
    ],
    [
      'a device in the way of a directory',
      () => [{ name: 'd', type: '6' }, { name: 'd/' }, { name: 'd/x' }],
      ['d/x'],
    ],
    ['a directory replaced by a file', () => [{ name: 'd/' }, { name: 'd/x' }, { name: 'd' }], ['d']],
  ])('keeps inside: %s', async (_title, make, expected) => {
    const bytes = tar(make(rig.canary.folder));
    try {
      const layer = await rig.apply(bytes);
      expect(expected.filter((path) => !existsSync(join(layer.diff, path)))).toEqual([]);
      expect(rig.replayed(layer).equals(bytes)).toBe(true);
    } catch (error) {
      // A link to a directory that the layer lacks cannot be written through: refused is inside as well.
      expect(expected, String(error)).toEqual([]);
    }
  });

  test('keeps everything a file has', async () => {
    const capability = Buffer.from('0100000200040000000000000000000000000000', 'hex');
    const bytes = tar([
      { name: './', mode: 0o750, uid: 3, gid: 4, mtime: 1_000_000_000 },
      { name: 'bin/', mode: 0o1777 },
      {
        name: 'bin/ping',
        mode: 0o4755,
        uid: 1000,
        gid: 70_000,
        content: 'ping',
        pax: {
          'SCHILY.xattr.security.capability': capability,
          'SCHILY.xattr.user.binary': Buffer.from([0, 10, 61, 255]),
          'SCHILY.xattr.security.selinux': 'ignored',
          mtime: '1234567890.123456789',
        },
      },
      { name: 'later', type: '1', linkName: 'zz-target' },
      { name: 'zz-target', content: 'linked before it came' },
      { name: `long/${'n'.repeat(120)}`, content: 'long' },
      { name: 'null', type: '3', major: 1, minor: 3, mode: 0o666 },
      { name: 'link', type: '2', linkName: '/nowhere', uid: 5, gid: 6, mtime: 1_111_111_111 },
      { name: 'gone/', mode: 0o700 },
      { name: 'gone/.wh..wh..opq' },
      { name: '.wh.removed' },
      { name: '.wh..wh.aufs', content: 'bookkeeping' },
    ]);
    const layer = await rig.apply(bytes);
    const at = (name: string): string => join(layer.diff, name);
    const ping = lstatSync(at('bin/ping'), { bigint: true });
    expect({
      root: [lstatSync(layer.diff).mode & 0o7777, lstatSync(layer.diff).uid, lstatSync(layer.diff).mtimeMs],
      bin: lstatSync(at('bin')).mode & 0o7777,
      ping: [ping.mode & 0o7777n, ping.uid, ping.gid, ping.mtimeNs],
      attributes: listAttributes(at('bin/ping')).toSorted(),
      binary: getAttribute(at('bin/ping'), 'user.binary').toString('hex'),
      sameFile: statSync(at('later')).ino === statSync(at('zz-target')).ino,
      null: [lstatSync(at('null')).rdev, lstatSync(at('null')).mode & 0o7777],
      link: [lstatSync(at('link')).uid, lstatSync(at('link')).mtimeMs],
      opaque: getAttribute(at('gone'), 'trusted.overlay.opaque').toString(),
      whiteout: [lstatSync(at('removed')).isCharacterDevice(), lstatSync(at('removed')).rdev],
      implied: layer.implied,
      bytes: layer.contentBytes,
      names: readdirSync(layer.diff).length,
    }).toMatchInlineSnapshot(`
      {
        "attributes": [
          "security.capability",
          "user.binary",
        ],
        "bin": 1023,
        "binary": "000a3dff",
        "bytes": 40,
        "implied": [
          "long",
        ],
        "link": [
          5,
          1111111111000,
        ],
        "names": 8,
        "null": [
          259,
          438,
        ],
        "opaque": "y",
        "ping": [
          2541n,
          1000n,
          70000n,
          1234567890123456789n,
        ],
        "root": [
          488,
          3,
          1000000000000,
        ],
        "sameFile": true,
        "whiteout": [
          true,
          0,
        ],
      }
    `);
    expect(getAttribute(at('bin/ping'), 'security.capability').subarray(0, 20)).toEqual(capability);
    expect(rig.replayed(layer).equals(bytes)).toBe(true);
  });

  test('reads what GNU tar and its older formats hold', async () => {
    const source = join(rig.base, 'source');
    mkdirSync(join(source, 'd'.repeat(70), 'e'.repeat(70)), { recursive: true });
    writeFileSync(join(source, 'd'.repeat(70), 'e'.repeat(70), 'f'.repeat(70)), 'deep');
    for (const format of ['gnu', 'pax', 'ustar', 'oldgnu']) {
      const bytes = execFileSync('tar', [`--format=${format}`, '-C', source, '-cf', '-', '.'], {
        maxBuffer: 1 << 24,
      });
      const layer = await rig.apply(bytes);
      expect(readFileSync(join(layer.diff, 'd'.repeat(70), 'e'.repeat(70), 'f'.repeat(70)), 'utf8')).toBe(
        'deep',
      );
      expect(layer.diffId).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
      expect(rig.replayed(layer).equals(bytes)).toBe(true);
    }
  });

  test('a whiteout and an entry of one name in the same layer both count', async () => {
    const layer = await rig.apply(
      tar([
        { name: '.wh.first' },
        { name: 'first/' },
        { name: 'second/' },
        { name: '.wh.second' },
        { name: 'third', content: 'x' },
        { name: '.wh.third' },
      ]),
    );
    const opaque = (name: string): string =>
      getAttribute(join(layer.diff, name), 'trusted.overlay.opaque').toString();
    expect([opaque('first'), opaque('second'), readFileSync(join(layer.diff, 'third'), 'utf8')]).toEqual([
      'y',
      'y',
      'x',
    ]);
  });
});

function wrongChecksum(): Buffer {
  const bytes = tar([{ name: 'a' }]);
  bytes[0] = 0x62;
  return bytes;
}

function negativeSize(): Buffer {
  const block = header({ name: 'a' });
  block.fill(0xff, 124, 136);
  return withChecksum(block);
}

function paxOf(records: Buffer): Buffer {
  return Buffer.concat([
    header({ name: 'x', type: 'x', content: records }),
    padded(records),
    tar([{ name: 'a', content: paxRecord('a', 'b') }]),
  ]);
}
