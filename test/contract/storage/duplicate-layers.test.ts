import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { imageTar } from '../../support/images.ts';
import { until } from '../../support/http.ts';
import { ImagesRig } from '../../support/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { tar } from '../../support/tar.ts';

const image = (tag: string): Buffer => imageTar([tar([{ name: 'f', content: 'x' }])], { tags: [tag] });

needs('root')('a layer that two bring at the same time', () => {
  test('nobody waits for the files of the one that came second to be deleted', async () => {
    const slow = new AbortController();
    const isOver = once(slow.signal, 'abort');
    await using rig = await ImagesRig.create(async (path) => {
      if (basename(path).startsWith('removed-')) {
        await isOver;
      }
      await rm(path, { recursive: true, force: true });
    });
    await Promise.all([rig.load(image('one:1')), rig.load(image('two:1'))]);
    const layers = (): string[] => readdirSync(join(rig.dataRoot, 'layers'));
    expect([rig.database.layers.all().length, layers().length]).toEqual([1, 2]);
    slow.abort();
    await until('the duplicate to be deleted', () => layers().length === 1);
  });
});
