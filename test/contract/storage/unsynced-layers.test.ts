import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BuildLayers } from '../../../daemon/build/ports.ts';
import type { BuildDeps } from '../../../daemon/images/build/ports.ts';
import { ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { tar } from '../../support/images/tar.ts';

const describe = needs('root');
const SIGNAL = new AbortController().signal;
const MARK = 'layers:unsynced';

describe('layers of builds that are not on the disk yet', () => {
  let rig: ImagesRig;
  let scratch: string;

  beforeEach(async () => {
    rig = await ImagesRig.create();
    scratch = mkdtempSync(join(tmpdir(), 'berth-unsynced-'));
  });

  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true });
  });

  // A layer from a tar needs neither containers nor mounts.
  const layers = (): BuildLayers => rig.images.buildLayers({} as BuildDeps);

  /** A layer on others, and a record of a build that has it. */
  const make = async (below: readonly number[], name: string): Promise<number[]> => {
    const content = tar([{ name, content: name }]);
    const file = join(scratch, name);
    await writeFile(file, content);
    const handle = await open(file);
    const spool = {
      fd: handle.fd,
      size: content.length,
      isEmpty: false,
      [Symbol.asyncDispose]: () => handle.close(),
    };
    await using _spool = spool;
    const { layerIds, pin } = await layers().commit(below, { tar: spool }, SIGNAL);
    using _pin = pin;
    rig.database.buildRecords.insert({
      id: name,
      key: name,
      type: 'regular',
      layerId: layerIds.at(-1) ?? null,
      sizeBytes: content.length,
      createdMs: 1,
      lastUsedMs: 1,
      usageCount: 1,
      description: name,
    });
    return [...layerIds];
  };
  const records = (): string[] => rig.database.buildRecords.all().map(({ id }) => id);
  const directories = (): string[] => readdirSync(join(rig.dataRoot, 'layers'));
  const makeImage = async (layerIds: readonly number[]): Promise<void> => {
    const rootfs = { type: 'layers', diff_ids: layers().diffIds(layerIds) };
    const config = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs }));
    await layers().makeImage({ layerIds, config, names: ['made:1'] });
  };

  test('the daemon ends: they are taken up again', async () => {
    const ids = await make(await make([], 'lower'), 'upper');
    expect(rig.database.meta.get(MARK)).toBe(`first-boot ${ids[0]}`);
    await rig.restart();
    expect(records()).toEqual(['lower', 'upper']);
    expect(layers().chainOf(ids[1] ?? 0)).toEqual(ids);
    expect(rig.database.meta.get(MARK)).toBe(`first-boot ${ids[0]}`);
  });

  test('the machine goes down: no build takes them any more, and a new one makes them again', async () => {
    const ids = await make(await make([], 'lower'), 'upper');
    rig.bootId = 'second-boot';
    await rig.restart();
    expect(records()).toEqual([]);
    expect(rig.database.layers.all()).toEqual([]);
    await expect.poll(directories).toEqual([]);
    expect(layers().chainOf(ids[1] ?? 0)).toBeUndefined();
    expect(await make([], 'lower')).toHaveLength(1);
  });

  test('an image of them: they are on the disk before it, and stay with what builds know of them', async () => {
    const ids = await make(await make([], 'lower'), 'upper');
    await makeImage(ids);
    expect(rig.database.meta.get(MARK)).toBe('');
    const above = await make(ids, 'above');
    rig.bootId = 'second-boot';
    await rig.restart();
    expect(records()).toEqual(['lower', 'upper']);
    expect(rig.images.resolve('made:1').layerIds).toEqual(ids);
    expect(layers().chainOf(above[2] ?? 0)).toBeUndefined();
    await expect.poll(directories).toHaveLength(2);
  });
});
