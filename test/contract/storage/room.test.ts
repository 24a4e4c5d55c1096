import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeTree } from '../../../storage/files/remove/remove-tree.ts';
import { sleep } from '../../support/engine/http.ts';
import { imageTar } from '../../support/images/images.ts';
import { ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';
import { tar } from '../../support/images/tar.ts';

const MiB = 2 ** 20;

needs('root')('a disk on which a removed image still lies', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'berth-room-'));
    // One image fits beside what every unpacking has to leave (64 MB), two do not.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=110m', 'berth-test', folder]);
    mkdirSync(path.join(folder, 'root'));
  });

  afterEach(() => {
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });

  test('the next one waits for its room instead of giving up', async () => {
    await using rig = new ImagesRig(path.join(folder, 'root'), async (doomed) => {
      await sleep(700);
      removeTree(doomed);
    });
    await rig.images.restore();
    await rig.load(image('one'));
    await expect(rig.load(image('two'))).rejects.toMatchObject({ code: 'resource_exhausted' });
    await rig.images.remove('one:1', { force: false, noprune: false });
    await rig.load(image('two'));
    expect(rig.images.resolve('two:1').layerIds).toHaveLength(1);
  });
});

function image(tag: string): Buffer {
  return imageTar([tar([{ name: tag, content: Buffer.alloc(30 * MiB, tag) }])], { tags: [`${tag}:1`] });
}
