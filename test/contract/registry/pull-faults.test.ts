import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FaultProxy } from '../../support/registry/fault-proxy.ts';
import { collect, ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { fileLayer, publish } from '../../support/registry/registry-content.ts';
import { TestRegistry } from '../../support/registry/registry.ts';

const list = (rig: ImagesRig): ReturnType<typeof rig.images.list> =>
  rig.images.list({ all: true, filters: new Map(), sharedSize: false, digests: true });

/** What is in the store beside what the rows tell of. */
async function leftovers(rig: ImagesRig): Promise<string[]> {
  const known = rig.database.layers.all().map(({ id }) => id.toString(36));
  return [
    ...readdirSync(path.join(rig.dataRoot, 'layers')).filter((name) => !known.includes(name)),
    ...readdirSync(path.join(rig.dataRoot, 'tmp')),
  ];
}

/** What others do at the same time may well fail. */
const ignore = (): undefined => undefined;

needs('root', 'docker-registry')('pull on a bad day', () => {
  let registry: TestRegistry;
  let proxy: FaultProxy;
  const directory = mkdtempSync(path.join(tmpdir(), 'berth-pull-'));

  beforeAll(async () => {
    registry = await TestRegistry.start({ port: 0 });
    proxy = await FaultProxy.start(registry.address);
    const base = `http://${registry.address}`;
    const files = Array.from({ length: 600 }, (_, index) => ({ name: `f${index}`, content: `${index}` }));
    await publish(base, 'many:1', [files]);
    await publish(base, 'large:1', [fileLayer('zeros', Buffer.alloc(80 << 20))]);
    await publish(
      base,
      'three:1',
      ['a', 'b', 'c'].map((name) => fileLayer(name, Buffer.alloc(300_000, name))),
    );
    await publish(
      base,
      'three:2',
      ['a', 'b', 'd'].map((name) => fileLayer(name, Buffer.alloc(300_000, name))),
    );
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const pull = (rig: ImagesRig, name: string, signal = new AbortController().signal): Promise<unknown> =>
    collect(rig.images.pull({ name: `${proxy.address}/${name}`, tag: '1', auth: {}, signal }));
  it.each([
    ['R25: a full disk', 'large', 'size=100m', 'size=400m', /no space left|ENOSPC/],
    [
      'R26: a disk without free inodes',
      'many',
      'size=200m,nr_inodes=300',
      'nr_inodes=10k',
      /ENOSPC|no space left/,
    ],
  ])('%s fails it, leaves nothing, and the next one works', async (_title, name, before, after, message) => {
    const root = path.join(directory, name);
    mkdirSync(root);
    execFileSync('mount', ['-t', 'tmpfs', '-o', before, 'berth-test', root]);
    try {
      const dataRoot = path.join(root, 'data');
      mkdirSync(dataRoot);
      await using rig = new ImagesRig(dataRoot);
      await rig.images.restore();
      await expect(pull(rig, name)).rejects.toThrow(message);
      expect([await leftovers(rig), await list(rig)]).toEqual([[], []]);
      execFileSync('mount', ['-o', `remount,${after}`, root]);
      await pull(rig, name);
      expect(await list(rig)).toHaveLength(1);
    } finally {
      execFileSync('umount', [root]);
    }
  });

  it('R36: a directory that an earlier crash left in the place of a layer is no obstacle', async () => {
    await using rig = await ImagesRig.create();
    for (let id = 1; id < 8; id += 1) {
      const place = path.join(rig.dataRoot, 'layers', id.toString(36));
      mkdirSync(place);
      writeFileSync(path.join(place, 'recipe'), 'torn');
    }
    await pull(rig, 'three');
    expect((await rig.save(`${proxy.address}/three:1`)).length).toBeGreaterThan(900_000);
  });

  it('R43: cancelled at any moment, it leaves nothing and holds up nobody', async () => {
    await using rig = await ImagesRig.create();
    for (let attempt = 0; attempt < 25; attempt += 1) {
      const stop = new AbortController();
      const pulling = pull(rig, 'three', stop.signal).catch(ignore);
      await new Promise((resolve) => setTimeout(resolve, attempt * 3));
      stop.abort(new Error('client hung up'));
      await pulling;
      if ((await list(rig)).length === 0) {
        expect(await leftovers(rig)).toEqual([]);
      } else {
        await rig.images.remove(`${proxy.address}/three:1`, { force: true, noprune: false });
      }
    }
    await pull(rig, 'three');
    expect([await leftovers(rig), (await list(rig)).length]).toEqual([[], 1]);
  });

  it('R35: pulls, removals and saves of shared layers at the same time leave whole images', async () => {
    await using rig = await ImagesRig.create();
    const signal = new AbortController().signal;
    const get = (tag: string): Promise<unknown> =>
      collect(rig.images.pull({ name: `${proxy.address}/three`, tag, auth: {}, signal }));
    for (let round = 0; round < 4; round += 1) {
      await Promise.all([
        get('1'),
        get('2'),
        rig.images.remove(`${proxy.address}/three:1`, { force: true, noprune: false }).catch(ignore),
        rig.save(`${proxy.address}/three:2`).catch(ignore),
        get('1'),
      ]);
    }
    await get('1');
    for (const tag of ['1', '2']) {
      expect((await rig.save(`${proxy.address}/three:${tag}`)).length).toBeGreaterThan(900_000);
    }
    expect([await leftovers(rig), rig.database.integrityProblems()]).toEqual([[], []]);
  });
});
