import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { COMPRESSORS, compressed } from '../../support/images/compressors.ts';
import { busyboxEntries, busyboxImageTar, imageIdentity, imageTar } from '../../support/images/images.ts';
import { collect, ImagesRig, inPieces } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { readTar, tar, withChecksum } from '../../support/images/tar.ts';

const describe = needs('root', 'busybox');

describe('images on a real disk', () => {
  let rig: ImagesRig;

  beforeEach(async () => {
    rig = await ImagesRig.create();
  });

  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
  });

  /** What a load must leave alone, or take back: directories and rows. */
  function footprint(): unknown {
    return {
      layers: readdirSync(join(rig.dataRoot, 'layers')),
      spools: readdirSync(join(rig.dataRoot, 'tmp')),
      rows: rig.database.layers.all().length,
      images: rig.database.images.all().map((row) => row.id),
      tags: rig.database.tags.all().length,
    };
  }

  test.each([
    ['docker', 'plain'],
    ['oci', 'plain'],
    ...COMPRESSORS.flatMap((program) => [['docker', program] as const, ['oci', program] as const]),
  ] as const)('load: reads the %s format (layers: %s) to the same image', async (format, layersAs) => {
    const options = {
      format,
      ...(layersAs === 'plain' ? {} : { compressor: layersAs }),
      config: { Cmd: ['sh'], Env: ['A=1'] },
      tags: ['box:1', 'example/box:2'],
    };
    const layers = [tar(busyboxEntries()), tar([{ name: 'etc/motd', content: 'hello\n' }])];
    const identity = imageIdentity(layers, options);
    expect(await rig.load(imageTar(layers, options))).toEqual([
      { stream: 'Loaded image: box:1\n' },
      { stream: 'Loaded image: example/box:2\n' },
    ]);
    const image = await rig.images.inspect('box:1');
    expect({ id: image.Id, diffIds: image.RootFS.Layers, tags: image.RepoTags }).toEqual({
      ...identity,
      tags: ['box:1', 'example/box:2'],
    });
    // The second layer only implies etc/: it shows as the first one has it.
    const top = rig.layers.diff(rig.images.resolve('box:1').layerIds[1] ?? 0);
    expect(lstatSync(join(top, 'etc')).mode & 0o7777).toBe(0o755);
    expect(readFileSync(join(top, 'etc/motd'), 'utf8')).toBe('hello\n');
    // However a layer came, what is stored is its tar.
    const saved = readTar(await rig.save('box:1'));
    for (const layer of layers) {
      expect([...saved.values()].some((content) => content.equals(layer))).toBe(true);
    }
  });

  test('load: reads the oldest format and makes the configuration that it lacks', async () => {
    await rig.load(busyboxImageTar({ format: 'legacy', extraLayers: [[{ name: 'x', content: 'x' }]] }));
    const image = await rig.images.inspect('busybox');
    expect(image.RootFS.Layers).toHaveLength(2);
    expect(image.Config?.Cmd).toEqual(['sh']);
    expect((await rig.images.history('busybox')).map((item) => [item.CreatedBy, item.Size])).toEqual([
      ['/bin/sh -c #(nop) ADD layer 1', 1],
      ['/bin/sh -c #(nop) ADD layer 0', image.Size - 1],
    ]);
  });

  test.each(COMPRESSORS)(
    'load: takes a tarball compressed as a whole by %s, and names an image without tags by its id',
    async (program) => {
      const tarball = busyboxImageTar({ tags: [] });
      const [message] = await rig.load(compressed(program, tarball));
      const [image] = rig.database.images.all();
      expect(message).toEqual({ stream: `Loaded image ID: ${image?.id}\n` });
    },
  );

  test('load: shows progress as dockerd does, and does not unpack a layer twice', async () => {
    const messages = await rig.load(busyboxImageTar(), { quiet: false });
    expect(messages.at(-2)).toMatchObject({
      status: 'Loading layer',
      progressDetail: { current: 2131968, total: 2131968 },
      progress: `[${'='.repeat(50)}>]  2.132MB/2.132MB`,
    });
    const before = footprint();
    expect(await rig.load(busyboxImageTar(), { quiet: false })).toEqual([
      { stream: 'Loaded image: busybox:latest\n' },
    ]);
    expect(footprint()).toEqual(before);
    expect(rig.events.map((event) => event.action)).toEqual(['load', 'load']);
  });

  test('save: gives back byte for byte what was loaded, in a tarball that loads again', async () => {
    const odd = tar([
      { name: 'bin/tool', mode: 0o4755, uid: 7, gid: 8, content: Buffer.alloc(70_000, 'x') },
      { name: 'bin/tool2', type: '1', linkName: 'bin/tool' },
      { name: 'dev/null', type: '3', major: 1, minor: 3, mode: 0o666 },
      { name: 'pipe', type: '6', mode: 0o600 },
      { name: 'etc/.wh.passwd' },
      { name: 'var/', mode: 0o700 },
      { name: 'var/.wh..wh..opq' },
      { name: Buffer.from([0x66, 0xff, 0xfe]), content: 'not UTF-8' },
      { name: 'twice', content: 'first' },
      { name: 'twice', content: 'second' },
    ]);
    const options = { tags: ['odd:1'], extraLayers: [Buffer.concat([odd, Buffer.from('trailing bytes')])] };
    await rig.load(busyboxImageTar(options));
    const image = await rig.images.inspect('odd:1');
    const saved = await rig.save('odd:1');
    expect((await rig.save('odd:1')).equals(saved)).toBe(true);
    await rig.images.remove('odd:1', { force: false, noprune: false });
    expect(footprint()).toEqual({ layers: [], spools: [], rows: 0, images: [], tags: 0 });
    await rig.load(saved);
    const again = await rig.images.inspect('odd:1');
    expect([again.Id, again.RootFS]).toEqual([image.Id, image.RootFS]);
    expect(rig.events.map((event) => event.action)).toEqual([
      'load',
      'save',
      'save',
      'untag',
      'delete',
      'load',
    ]);
  });

  test('save: by an id writes no names; several images share their layers', async () => {
    await rig.load(busyboxImageTar({ tags: ['one:1'] }));
    await rig.load(busyboxImageTar({ tags: ['two:1'], extraLayers: [[{ name: 'x', content: 'x' }]] }));
    const { Id } = await rig.images.inspect('one:1');
    expect((await rig.save(Id)).includes('repositories')).toBe(false);
    const both = await rig.save('one', 'two:1');
    expect(both.length).toBeLessThan(2_200_000);
    await rig.images.remove('one:1', { force: false, noprune: false });
    await rig.images.remove('two:1', { force: false, noprune: false });
    expect(await rig.load(both)).toEqual([
      { stream: 'Loaded image: one:1\n' },
      { stream: 'Loaded image: two:1\n' },
    ]);
  });

  test('save: fails at its end when a file of a layer was changed below the engine', async () => {
    await rig.load(busyboxImageTar());
    const [layer] = rig.images.resolve('busybox').layerIds;
    await writeFile(join(rig.layers.diff(layer ?? 0), 'etc/shadow'), 'root::10933:0:99999:7:::\n\n');
    await expect(rig.save('busybox')).rejects.toThrow(/its files were changed/);
  });

  test('load: a damaged layer leaves nothing, and the next load works', async () => {
    const before = footprint();
    const good = busyboxImageTar();
    const flipped = Buffer.from(good);
    flipped[1_000_000] = (flipped[1_000_000] ?? 0) ^ 1;
    await expect(rig.load(flipped)).rejects.toThrow(/diffID mismatch/);
    await expect(rig.load(good.subarray(0, 500_000))).rejects.toThrow(/cut off/);
    expect(footprint()).toEqual(before);
    await rig.load(good);
    expect(
      await rig.images.list({ all: false, filters: new Map(), sharedSize: true, digests: false }),
    ).toMatchObject([{ RepoTags: ['busybox:latest'], SharedSize: 0 }]);
  });

  test('R32: a load ends when its client goes, as it sends or as layers are unpacked; the next works', async () => {
    const before = footprint();
    const controller = new AbortController();
    const stalled = new Readable({ read() {} });
    stalled.push(busyboxImageTar().subarray(0, 1_000_000));
    setTimeout(() => controller.abort(), 50);
    await expect(
      collect(rig.images.load(stalled, { quiet: true, signal: controller.signal })),
    ).rejects.toMatchObject({ code: 'canceled' });
    const signal = new AbortController().signal;
    const loading = rig.images.load(inPieces(busyboxImageTar()), { quiet: false, signal });
    const messages = loading[Symbol.asyncIterator]();
    await messages.next();
    await messages.return?.();
    expect(footprint()).toEqual(before);
    await rig.load(busyboxImageTar());
    expect(footprint()).toMatchObject({ rows: 1, tags: 1, spools: [] });
  });

  test('R34: a tarball cut off anywhere, with wrong sizes or damage, is an error that keeps nothing', async () => {
    const before = footprint();
    const layer = tar([{ name: 'a', content: Buffer.alloc(5000, 'a') }]);
    const good = imageTar([layer, layer], { tags: ['cut:1'] });
    const end = good.lastIndexOf('"Layers"');
    const doomed = [
      ...Array.from({ length: 40 }, (_, index) => good.subarray(0, Math.floor((end * index) / 40))),
      // A member that claims more, or less, than it has.
      withSize(good, 'layer.tar', 7000),
      withSize(good, 'layer.tar', 700),
      withSize(good, 'manifest.json', 10),
      Buffer.concat([compressed('gzip', good), Buffer.from('garbage')]),
    ];
    for (const [index, bytes] of doomed.entries()) {
      await expect(rig.load(bytes), `number ${index}`).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(footprint()).toEqual(before);
    }
    for (const bytes of [layer.subarray(0, 3000), compressed('zstd', layer).subarray(0, 40)]) {
      const options = {
        repo: 'cut',
        tag: '',
        message: '',
        changes: [],
        signal: new AbortController().signal,
      };
      await expect(collect(rig.images.import(inPieces(bytes), options))).rejects.toMatchObject({
        code: 'invalid_argument',
      });
      expect(footprint()).toEqual(before);
    }
    await rig.load(good);
  });

  test('load: two at once of the same image end with one', async () => {
    await Promise.all([rig.load(busyboxImageTar()), rig.load(busyboxImageTar())]);
    expect(footprint()).toMatchObject({ rows: 1, tags: 1, spools: [] });
    // The copy is deleted behind the answers.
    await expect.poll(() => readdirSync(join(rig.dataRoot, 'layers'))).toHaveLength(1);
  });

  test('restore: removes directories without a row and keeps the images', async () => {
    await rig.load(busyboxImageTar());
    for (const name of ['layers/tmp-1', 'layers/zz', 'layers/removed-1', 'tmp/spool-1']) {
      await mkdir(join(rig.dataRoot, name, 'deep'), { recursive: true });
    }
    await rig.restart();
    expect(footprint()).toMatchObject({ layers: ['1'], spools: [], rows: 1 });
    expect((await rig.images.inspect('busybox')).RepoTags).toEqual(['busybox:latest']);
  });

  test('restore: leaves out an image whose configuration is damaged, and takes it again', async () => {
    await rig.load(busyboxImageTar());
    const [row] = rig.database.images.all();
    rig.database.images.remove(row?.id ?? '');
    rig.database.images.insert({ ...row!, config: Buffer.from('{}') });
    await rig.restart();
    await expect(rig.images.inspect('busybox')).rejects.toThrow('No such image: busybox:latest');
    await rig.load(busyboxImageTar());
    expect((await rig.images.inspect('busybox')).Id).toBe(row?.id);
  });

  test('remove and tag: names move, layers go with their last image, events tell it', async () => {
    await rig.load(busyboxImageTar({ tags: ['base:1'] }));
    await rig.load(busyboxImageTar({ tags: ['top:1'], extraLayers: [[{ name: 'x', content: 'x' }]] }));
    const base = (await rig.images.inspect('base:1')).Id;
    const top = (await rig.images.inspect('top:1')).Id;
    await rig.images.tag('base:1', { repo: 'localhost:5000/moved', tag: 'v1' });
    await rig.images.tag(top.slice(7, 19), { repo: 'localhost:5000/moved:v1', tag: '' });
    expect(await rig.images.remove('base:1', { force: false, noprune: false })).toEqual([
      { Untagged: 'base:1' },
      { Deleted: base },
    ]);
    rig.users.set(top, [{ id: 'f'.repeat(64), name: 'c', running: true }]);
    await expect(rig.images.remove(top, { force: true, noprune: false })).rejects.toThrow(
      `conflict: unable to delete ${top.slice(7, 19)} (cannot be forced) - ` +
        'image is being used by running container ffffffffffff',
    );
    rig.users.clear();
    const layers = rig.database.layers.all().map((layer) => layer.chainId);
    expect(await rig.images.remove(top, { force: true, noprune: false })).toEqual([
      { Untagged: 'localhost:5000/moved:v1' },
      { Untagged: 'top:1' },
      { Deleted: top },
      ...layers.toReversed().map((chainId) => ({ Deleted: chainId })),
    ]);
    expect(readdirSync(join(rig.dataRoot, 'layers'))).toEqual([]);
    expect(rig.events.map((event) => [event.action, event.attributes['name']])).toEqual([
      ['load', base],
      ['load', top],
      ['tag', 'localhost:5000/moved:v1'],
      ['tag', 'localhost:5000/moved:v1'],
      ['untag', base],
      ['delete', base],
      ['untag', top],
      ['untag', top],
      ['delete', top],
    ]);
  });

  test('import: makes an image of one layer with the changes asked for', async () => {
    const signal = new AbortController().signal;
    const [message] = await collect(
      rig.images.import(inPieces(compressed('zstd', tar(busyboxEntries()))), {
        repo: 'imported',
        tag: '',
        message: 'by hand',
        changes: ['CMD ["sh", "-l"]', 'ENV A=1 B="2 3"\nEXPOSE 80'],
        signal,
      }),
    );
    const image = await rig.images.inspect('imported:latest');
    expect(message).toEqual({ status: image.Id });
    expect(image).toMatchObject({
      Comment: 'by hand',
      Architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      Config: { Cmd: ['sh', '-l'], Env: ['A=1', 'B=2 3'], ExposedPorts: { '80/tcp': {} } },
    });
    expect(existsSync(join(rig.layers.diff(1), 'bin/busybox'))).toBe(true);
  });
});

/** The tarball with another size in the header of the first member whose name ends so. */
function withSize(tarball: Buffer, ending: string, size: number): Buffer {
  const changed = Buffer.from(tarball);
  for (let offset = 0; offset < changed.length; offset += 512) {
    const block = changed.subarray(offset, offset + 512);
    const name = block.toString('latin1', 0, Math.max(0, block.indexOf(0)));
    if (name.endsWith(ending)) {
      block.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
      withChecksum(block);
      return changed;
    }
  }
  throw new Error(`no member ${ending}`);
}
