import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { savedLayers } from '../../support/images/saved-layers.ts';
import { readTar, tar, type TarEntry } from '../../support/images/tar.ts';
import { untar } from '../../support/images/untar.ts';

/** cap_net_bind_service=ep, version 2. */
const CAPABILITY = Buffer.from('0100000200040000000000000000000000000000', 'hex');
const KiB = 1024;

/** As it is unpacked. */
const SPARSE = Buffer.concat([Buffer.alloc(512 * KiB), Buffer.alloc(KiB, 's'), Buffer.alloc(511 * KiB)]);

/** Files that lose something in a careless engine. */
const ODD: readonly TarEntry[] = [
  { name: 'odd/early', type: '1', linkName: 'odd/late', mode: 0o4755, uid: 1000, gid: 70_000 },
  { name: 'odd/late', content: 'late', mode: 0o4755, uid: 1000, gid: 70_000 },
  { name: 'odd/capable', content: 'x', mode: 0o755, pax: { 'SCHILY.xattr.security.capability': CAPABILITY } },
  { name: 'odd/character', type: '3', major: 1, minor: 3, mode: 0o666 },
  { name: 'odd/block', type: '4', major: 7, minor: 300, mode: 0o640 },
  { name: 'odd/fifo', type: '6', mode: 0o622 },
  { name: Buffer.from('odd/\xff\xfe name\n', 'latin1'), content: 'not UTF-8' },
  {
    name: 'odd/sparse',
    content: Buffer.alloc(KiB, 's'),
    pax: {
      'GNU.sparse.size': String(KiB * KiB),
      'GNU.sparse.numblocks': '1',
      'GNU.sparse.map': `${512 * KiB},${KiB}`,
    },
  },
];

describeEngine('odd files', (engine) => {
  test('R37: odd files stay what they are from load to run, commit, export, save and removal', async () => {
    // dockerd knows no link to what comes later.
    const layer = tar(onReference ? [...ODD.slice(1), ...ODD.slice(0, 1)] : ODD);
    const body = busyboxImageTar({
      tags: ['odd:1'],
      extraLayers: [layer],
      ...(onReference ? {} : { compressor: 'zstd' as const }),
    });
    expect((await engine.http.request('POST', '/images/load?quiet=1', { body })).text).toContain('odd:1');
    const look = 'cd /odd; stat -c "%n %F %a %u:%g %t:%T %h %s" b* c* e* f* l* s*; md5sum sparse';
    // A change of mode copies the file up, with all that belongs to it.
    const script = `${look}; du -k sparse | cut -f 1; chmod 700 capable; exec sleep 600`;
    const id = await engine.start(['sh', '-c', script], {}, { Image: 'odd:1' });
    await expect
      .poll(async () => (await engine.exec(id, ['stat', '-c', '%a', '/odd/capable'])).stdout)
      .toBe('700\n');
    const { stdout } = await engine.logs(id);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.slice(0, -1)).toEqual([
      'block block special file 640 0:0 7:12c 1 0',
      'capable regular file 755 0:0 0:0 1 1',
      'character character special file 666 0:0 1:3 1 0',
      'early regular file 4755 1000:70000 0:0 2 4',
      'fifo fifo 622 0:0 0:0 1 0',
      'late regular file 4755 1000:70000 0:0 2 4',
      'sparse regular file 644 0:0 0:0 1 1048576',
      `${md5(SPARSE)}  sparse`,
    ]);
    // dockerd writes the holes out.
    expect(Number(lines.at(-1))).toBeLessThan(onReference ? 1100 : 20);

    if (onReference) {
      // What dockerd saves of a layer with a sparse file is another tar: from here on there is nothing to compare.
      return;
    }
    await engine.http.ok('POST', `/commit?container=${id}&repo=odd&tag=2`);
    const layers = savedLayers((await engine.http.request('GET', '/images/odd:2/get')).bytes);
    // What was loaded comes back to the byte, what was committed has the capability.
    expect(layers.some((bytes) => bytes.equals(layer))).toBe(true);
    const changed = layers
      .flatMap((bytes) => (bytes.length < 100 * KiB && !bytes.equals(layer) ? untar(bytes) : []))
      .find(({ name, mode }) => name === 'odd/capable' && mode === 0o700);
    expect(changed?.attributes.get('security.capability')).toEqual(CAPABILITY);

    const second = await engine.create(['true'], {}, { Image: 'odd:2' });
    const exported = untar((await engine.http.request('GET', `/containers/${second}/export`)).bytes);
    const found = new Map(exported.map((member) => [member.name, member]));
    expect(found.get('odd/capable')?.attributes.get('security.capability')).toEqual(CAPABILITY);
    expect(md5(found.get('odd/sparse')?.content ?? Buffer.alloc(0))).toBe(md5(SPARSE));
    expect(found.get('odd/block')).toMatchObject({ type: 'block', major: 7, minor: 300, mode: 0o640 });
    expect(found.get('odd/fifo')).toMatchObject({ type: 'fifo', mode: 0o622 });
    expect(new Set([found.get('odd/early')?.type, found.get('odd/late')?.type])).toEqual(
      new Set(['file', 'link']),
    );
    expect(found.get('odd/\xff\xfe name\n')?.content.toString()).toBe('not UTF-8');
    await engine.removeAll();
    for (const image of ['odd:2', 'odd:1']) {
      await engine.http.ok('DELETE', `/images/${image}?force=1`);
    }
  });

  test.runIf(!onReference)(
    'R37: directories 4,000 deep are loaded, run, saved and removed',
    async () => {
      const layer = tar([{ name: `${'d/'.repeat(4000)}file`, content: 'at the bottom' }]);
      const body = busyboxImageTar({ tags: ['deep:1'], extraLayers: [layer] });
      expect((await engine.http.request('POST', '/images/load?quiet=1', { body })).text).toContain('deep:1');
      // In two steps, as one path may not say it.
      const half = 'd/'.repeat(2000);
      const script = `cd /${half} && cat ${half}file`;
      const { stdout } = await engine.run(['sh', '-c', script], {}, { Image: 'deep:1' });
      expect(stdout).toBe('at the bottom');
      const saved = readTar((await engine.http.request('GET', '/images/deep:1/get')).bytes);
      expect([...saved.values()].some((bytes) => bytes.equals(layer))).toBe(true);
      await engine.removeAll();
      await engine.http.ok('DELETE', '/images/deep:1?force=1');
    },
    120_000,
  );

  test.runIf(!onReference)(
    'R37: directories 4,000 deep are copied in, exported, copied out and committed',
    async () => {
      const half = 'd/'.repeat(2000);
      const file = `${half}${half}file`;
      const body = tar([
        { name: file, content: 'at the bottom' },
        { name: 'd/side', content: 'on the way back' },
      ]);
      const id = await engine.create(['true']);
      const put = await engine.http.request('PUT', `/containers/${id}/archive?path=/`, {
        body,
        headers: { 'content-type': 'application/x-tar' },
      });
      expect([put.status, put.text]).toEqual([200, '']);
      const wanted = { deepest: 'at the bottom', last: 'on the way back' };
      for (const path of ['export', 'archive?path=/d']) {
        const { bytes } = await engine.http.request('GET', `/containers/${id}/${path}`);
        const members = new Map(untar(bytes).map(({ name, content }) => [name, content.toString()]));
        expect({ deepest: members.get(file), last: members.get('d/side') }).toEqual(wanted);
      }
      expect(await engine.http.ok('GET', `/containers/${id}/json?size=1`)).toMatchObject({
        SizeRw: 'at the bottom'.length + 'on the way back'.length,
      });
      await engine.http.ok('POST', `/commit?container=${id}&repo=deep&tag=2`);
      const script = `cd /${half} && cat ${half}file /d/side`;
      const { stdout } = await engine.run(['sh', '-c', script], {}, { Image: 'deep:2' });
      expect(stdout).toBe('at the bottomon the way back');
      await engine.removeAll();
      await engine.http.ok('DELETE', '/images/deep:2?force=1');
    },
    120_000,
  );

  test('R32: a client that leaves in the middle of a load holds up nobody and leaves nothing', async () => {
    const body = busyboxImageTar({ tags: ['left:1'], extraLayers: [[{ name: 'left', content: 'x' }]] });
    for (const part of [0.2, 0.9]) {
      const stop = new AbortController();
      const half = async function* (): AsyncGenerator<Buffer> {
        yield await Promise.resolve(body.subarray(0, body.length * part));
        setTimeout(() => stop.abort(), 100);
        await new Promise(() => undefined);
      };
      const load = engine.http.request('POST', '/images/load?quiet=1', {
        body: Readable.from(half()),
        signal: stop.signal,
      });
      await expect(load).rejects.toThrow();
      expect((await engine.http.request('GET', '/images/left:1/json')).status).toBe(404);
    }
    expect((await engine.http.request('POST', '/images/load?quiet=1', { body })).text).toContain('left:1');
    const { stdout } = await engine.run(['cat', '/left'], {}, { Image: 'left:1' });
    expect(stdout).toBe('x');
    await engine.removeAll();
    await engine.http.ok('DELETE', '/images/left:1?force=1');
  });
});

function md5(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}
