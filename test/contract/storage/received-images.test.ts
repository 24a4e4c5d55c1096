import { armHere } from '../../support/fakes/failpoints.ts';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hostPlatform } from '../../../storage/image/platform.ts';
import { ociArchive } from '../../../storage/image-archives/oci-archive.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ReceivableImage } from '../../../daemon/images/pull/receive.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { readTar } from '../../support/images/tar.ts';

const describe = needs('root', 'busybox');

describe('images from another engine', () => {
  let there: ImagesRig;
  let here: ImagesRig;
  const never = new AbortController().signal;
  /** Layers that were read there. */
  let read: number[];

  beforeEach(async () => {
    armHere('');
    [there, here] = await Promise.all([ImagesRig.create(), ImagesRig.create()]);
    read = [];
  });

  afterEach(async () => {
    armHere('');
    await Promise.all([there[Symbol.asyncDispose](), here[Symbol.asyncDispose]()]);
  });

  const MOTD = { extraLayers: [[{ name: 'etc/motd', content: 'hello' }]] };

  /** What the other engine has under a name, with a holder that works at the end. */
  function offered(name: string, more: Partial<ReceivableImage> = {}): ReceivableImage {
    const image = there.images.share(name);
    if (image === undefined) {
      throw new Error(`no ${name}`);
    }
    return {
      id: image.id,
      taggedNano: image.taggedNano,
      describe: async () => image.describe(),
      holders: [
        {
          addr: 'there',
          readLayer: (position) => {
            read.push(position);
            return image.readLayer(position);
          },
        },
      ],
      ...more,
    };
  }

  test('it is the same image, byte for byte, under the name that was asked for', async () => {
    await there.load(busyboxImageTar({ ...MOTD, tags: ['web:1', 'other:2'] }));
    const image = offered('web:1');
    await here.images.receive('web:1', image, { signal: never });
    const { Id, RepoTags, Metadata } = await here.images.inspect('web:1');
    expect({ Id, RepoTags, Metadata }).toEqual({
      Id: image.id,
      RepoTags: ['web:1'],
      Metadata: (await there.images.inspect('web:1')).Metadata,
    });
    expect(here.images.share('web:1')?.taggedNano).toBe(image.taggedNano);
    const [sent, kept] = [readTar(await there.save('web:1')), readTar(await here.save('web:1'))];
    expect([...kept.keys()]).toEqual([...sent.keys()]);
    expect([...kept].every(([name, content]) => sent.get(name)?.equals(content))).toBe(true);
    expect(here.events.map(({ action, actorId }) => [action, actorId])).toContainEqual(['pull', 'web:1']);
    // The next daemon has it too.
    await here.restart();
    expect(here.images.share('web:1')?.taggedNano).toBe(image.taggedNano);
  });

  test('layers that are here are not sent again; a name moves as by a pull', async () => {
    await here.load(busyboxImageTar({ tags: ['web:1'] }));
    const old = here.images.resolve('web:1').id;
    await there.load(busyboxImageTar({ ...MOTD, tags: ['web:1'] }));
    await here.images.receive('web:1', offered('web:1'), { signal: never });
    expect(read).toEqual([1]);
    expect(here.images.resolve('web:1').id).not.toBe(old);
    expect((await here.images.inspect(old)).RepoTags).toEqual([]);
    // Only the name is missing.
    await here.images.remove('web:1', { force: false, noprune: false });
    await here.images.tag(old, { repo: 'kept', tag: '1' });
    await there.load(busyboxImageTar({ tags: ['kept:2'] }));
    await here.images.receive('kept:2', offered('kept:2'), { signal: never });
    expect(read).toEqual([1]);
    expect(here.images.resolve('kept:2').id).toBe(old);
  });

  test('an id gives no name, a digest is the repository’s', async () => {
    await there.load(busyboxImageTar({ tags: ['web:1'] }));
    const image = offered('web:1');
    await here.images.receive(image.id.slice('sha256:'.length), image, { signal: never });
    expect(await here.images.inspect(image.id)).toMatchObject({ RepoTags: [], RepoDigests: [] });
    const digest = `sha256:${'d'.repeat(64)}`;
    await here.images.receive(`r.example/web:1@${digest}`, image, { signal: never });
    expect(await here.images.inspect(`r.example/web@${digest}`)).toMatchObject({
      Id: image.id,
      RepoTags: [],
      RepoDigests: [`r.example/web@${digest}`],
    });
  });

  test('a holder that breaks off is followed by the next', async () => {
    await there.load(busyboxImageTar(MOTD));
    const image = offered('busybox');
    const broken = {
      addr: 'broken',
      async *readLayer(): AsyncGenerator<Buffer> {
        yield Buffer.from('some');
        throw new Error('gone');
      },
    };
    await here.images.receive(
      'busybox',
      { ...image, holders: [broken, ...image.holders] },
      { signal: never },
    );
    expect(here.images.resolve('busybox').id).toBe(image.id);
  });

  test.each<[string, (image: ReceivableImage) => Partial<ReceivableImage>, string]>([
    [
      'another configuration than announced',
      () => ({ describe: async () => ({ config: Buffer.from('{}'), layerBytes: [] }) }),
      'its configuration has the digest',
    ],
    [
      'no sizes',
      (image) => ({ describe: async () => ({ ...(await image.describe(never)), layerBytes: [1] }) }),
      'the sizes of its 2 layers were not told',
    ],
    [
      'sizes that are none',
      (image) => ({ describe: async () => ({ ...(await image.describe(never)), layerBytes: [-1, 2.5] }) }),
      'the sizes of its 2 layers were not told',
    ],
    [
      'more bytes than announced',
      () => ({ holders: [{ addr: 'x', readLayer: () => pieces(randomBytes(64 * 1024 * 1024)) }] }),
      'a layer has more than the',
    ],
    [
      'fewer bytes than announced',
      () => ({ holders: [{ addr: 'x', readLayer: () => pieces(Buffer.from('x')) }] }),
      'a layer ended after 1 of',
    ],
    [
      'other bytes than announced',
      (image) => ({
        holders: [
          {
            addr: 'x',
            async *readLayer(position) {
              const { layerBytes } = await image.describe(never);
              yield Buffer.alloc(layerBytes[position] ?? 0);
            },
          },
        ],
      }),
      'mismatch',
    ],
    ['no holder', () => ({ holders: [] }), 'nobody has it'],
  ])('an engine that sends %s is refused, and nothing is left', async (_title, change, message) => {
    await there.load(busyboxImageTar(MOTD));
    const before = footprint(here);
    const image = offered('busybox');
    await expect(
      here.images.receive('busybox', { ...image, ...change(image) }, { signal: never }),
    ).rejects.toThrow(message);
    expect(footprint(here)).toEqual(before);
  });

  test('one that is given up stops, and leaves nothing', async () => {
    await there.load(busyboxImageTar(MOTD));
    const before = footprint(here);
    const abort = new AbortController();
    let began!: () => void;
    const reading = new Promise<void>((resolve) => {
      began = resolve;
    });
    const silent = {
      addr: 'silent',
      async *readLayer(_position: number, signal: AbortSignal): AsyncGenerator<Buffer> {
        began();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        yield Buffer.alloc(0);
      },
    };
    const receiving = here.images.receive(
      'busybox',
      { ...offered('busybox'), holders: [silent] },
      { signal: abort.signal },
    );
    await reading;
    abort.abort(new Error('given up'));
    await expect(receiving).rejects.toThrow('given up');
    expect(footprint(here)).toEqual(before);
  });

  test.each(['images.receive.describe', 'images.receive.layer', 'images.load.commit'])(
    'a failure at %s leaves nothing, and the next try goes well',
    async (point) => {
      await there.load(busyboxImageTar(MOTD));
      const before = footprint(here);
      armHere(`${point}=error(armed)`);
      await expect(here.images.receive('busybox', offered('busybox'), { signal: never })).rejects.toThrow(
        'armed',
      );
      armHere('');
      expect(footprint(here)).toEqual(before);
      await here.images.receive('busybox', offered('busybox'), { signal: never });
      expect(here.images.resolve('busybox').layerIds).toHaveLength(2);
    },
  );

  test('an image that is removed while a layer of it is read is read to its end', async () => {
    await there.load(busyboxImageTar(MOTD));
    const image = there.images.share('busybox');
    const stream = image?.readLayer(0);
    await there.images.remove('busybox', { force: true, noprune: false });
    let bytes = 0;
    for await (const chunk of stream ?? []) {
      bytes += (chunk as Buffer).length;
    }
    expect(bytes).toBeGreaterThan(100_000);
    await expect.poll(() => there.database.layers.all()).toEqual([]);
    expect(there.images.share('busybox')).toBeUndefined();
    expect(there.images.share('No Reference')).toBeUndefined();
    expect(() => image?.readLayer(2)).toThrow('has no layer 2');
  });

  test('of several images under a name it is the one for a machine, or of an id', async () => {
    await there.load(await twoPlatforms('web:1'));
    const image = there.images.share('web:1');
    const other = there.images.share('web:1', { os: 'linux', architecture: 'riscv64' });
    expect([image?.architecture, other?.architecture]).toEqual([HOST, 'riscv64']);
    expect(other?.taggedNano).toBe(image?.taggedNano);
    expect(there.images.share('web:1', { id: other?.id ?? '' })?.id).toBe(other?.id);
    expect(there.images.share('web:1', { os: 'linux', architecture: 's390x' })?.id).toBe(image?.id);
  });
});

const HOST = hostPlatform().architecture;

/** A layout of two images without files. */
async function twoPlatforms(name: string): Promise<Buffer> {
  const none = new Map<string, string>();
  const images = [HOST, 'riscv64'].map((architecture) => ({
    config: Buffer.from(
      JSON.stringify({ os: 'linux', architecture, rootfs: { type: 'layers', diff_ids: [] } }),
    ),
    layers: [],
    compression: 'gzip' as const,
    isOci: true,
    platform: { os: 'linux', architecture },
    isByPlatform: true,
    annotations: none,
    descriptorAnnotations: none,
    statements: () => [],
  }));
  const names = [`docker.io/library/${name}`];
  const group = {
    images,
    meant: images[0],
    names,
    annotations: none,
    descriptorAnnotations: none,
    told: () => undefined,
  };
  const written: Buffer[] = [];
  for await (const piece of ociArchive([group], 'docker')) {
    written.push(piece);
  }
  return Buffer.concat(written);
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 500_000) {
    yield bytes.subarray(at, at + 500_000);
  }
}

function footprint(rig: ImagesRig): unknown {
  return {
    layers: readdirSync(join(rig.dataRoot, 'layers')).length,
    spools: readdirSync(join(rig.dataRoot, 'tmp')),
    rows: rig.database.layers.all().length,
    images: rig.database.images.all().map(({ id }) => id),
    tags: rig.database.tags.all().map(({ tag, imageId }) => [tag, imageId]),
  };
}
