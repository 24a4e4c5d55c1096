import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageTar } from '../../support/images/images.ts';
import { ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { tar } from '../../support/images/tar.ts';

const describe = needs('root');

const LAYERS = ['bottom', 'middle', 'top'].map((name) => tar([{ name, content: name }]));
const IMAGE = imageTar(LAYERS, { tags: ['three:1'] });

describe('a layer that has a row and no directory', () => {
  let rig: ImagesRig;
  let ids: number[];

  beforeEach(async () => {
    rig = await ImagesRig.create();
    await rig.load(IMAGE);
    ids = rig.images.resolve('three:1').layerIds;
  });

  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const loseAndRestart = async (position: number): Promise<void> => {
    rmSync(rig.layers.directory(ids[position] ?? 0), { recursive: true });
    await rig.restart();
  };

  test('the image is listed, and is not there for who needs its files', async () => {
    await loseAndRestart(1);
    expect((await rig.images.inspect('three:1')).RepoTags).toEqual(['three:1']);
    const text = /No such image: three:1: .*sha256:[0-9a-f]{64}.* pull or load it again/;
    expect(() => rig.images.resolve('three:1')).toThrow(text);
    await expect(rig.save('three:1')).rejects.toThrow(text);
  });

  test.each([0, 1, 2])('position %i: the next load restores it under its old id', async (position) => {
    await loseAndRestart(position);
    await rig.load(IMAGE);
    expect(rig.images.resolve('three:1').layerIds).toEqual(ids);
    expect((await rig.save('three:1')).length).toBeGreaterThan(0);
    const files = ids.map((id) => readdirSync(rig.layers.diff(id)));
    expect(files).toEqual([['bottom'], ['middle'], ['top']]);
    expect(readdirSync(join(rig.dataRoot, 'layers')).length).toBe(3);
    await rig.restart();
    expect(rig.images.resolve('three:1').layerIds).toEqual(ids);
  });

  test('two loads at once restore it once', async () => {
    await loseAndRestart(0);
    await Promise.all([rig.load(IMAGE), rig.load(IMAGE)]);
    expect(readFileSync(join(rig.layers.diff(ids[0] ?? 0), 'bottom'), 'utf8')).toBe('bottom');
    // Duplicates are deleted behind the answers.
    await expect.poll(() => readdirSync(join(rig.dataRoot, 'layers')).length).toBe(3);
  });

  test('an image of which it is a part can be removed', async () => {
    await loseAndRestart(2);
    await rig.images.remove('three:1', { force: false, noprune: false });
    expect(rig.database.layers.all()).toEqual([]);
    expect(existsSync(rig.layers.directory(ids[0] ?? 0))).toBe(false);
  });
});
