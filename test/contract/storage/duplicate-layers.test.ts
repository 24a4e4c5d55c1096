import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'vitest';
import { imageTar } from '../../support/images/images.ts';
import { until } from '../../support/engine/http.ts';
import { ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { tar } from '../../support/images/tar.ts';

const image = (tag: string, content: string): Buffer =>
  imageTar([tar([{ name: 'f', content }])], { tags: [tag] });

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
    const rows = (): number => rig.database.layers.all().length;
    const layers = (): string[] => readdirSync(join(rig.dataRoot, 'layers'));
    // One that begins late finds what the other has made.
    let round = 0;
    await until('two that do meet', async () => {
      round += 1;
      await Promise.all([rig.load(image('one:1', `${round}`)), rig.load(image('two:1', `${round}`))]);
      return layers().length > rows();
    });
    slow.abort();
    await until('the duplicate to be deleted', () => layers().length === rows());
  });
});
