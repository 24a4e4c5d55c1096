import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundledProgram } from '../../support/bundled-program.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { ImagesRig } from '../../support/images/images-rig.ts';
import { needs } from '../../support/needs.ts';

const describe = needs('root', 'busybox');
const tarball = busyboxImageTar({ extraLayers: [[{ name: 'x', content: 'x' }]] });

const script = await bundledProgram(join(import.meta.dirname, '../../support/images/load-and-die.ts'));

/** Runs a verb in a process that dies at a failpoint; true when it did. */
function dies(dataRoot: string, verb: string, failpoint: string): boolean {
  const result = spawnSync(process.execPath, [script, dataRoot, verb], {
    input: tarball,
    env: { ...process.env, BERTH_FAILPOINTS: `${failpoint}=sigkill` },
  });
  return result.signal === 'SIGKILL';
}

describe('images after SIGKILL', () => {
  test.each([
    'images.load.spool',
    'images.load.layer',
    'images.load.rename',
    'images.load.sync',
    'images.load.commit',
  ])('R33: a load killed at %s leaves no image and no layer, and the next one works', async (failpoint) => {
    await using rig = await ImagesRig.create();
    await rig.restart(() => expect(dies(rig.dataRoot, 'load', failpoint)).toBe(true));
    await expect.poll(() => readdirSync(join(rig.dataRoot, 'layers'))).toEqual([]);
    expect(readdirSync(join(rig.dataRoot, 'tmp'))).toEqual([]);
    expect([rig.database.images.all(), rig.database.layers.all()]).toEqual([[], []]);
    await rig.load(tarball);
    expect((await rig.images.inspect('busybox')).RootFS.Layers).toHaveLength(2);
  });

  test.each([
    ['images.remove.commit', 2],
    ['images.remove.directory', 0],
  ] as const)('remove: killed at %s has happened or not', async (failpoint, layers) => {
    await using rig = await ImagesRig.create();
    await rig.load(tarball);
    await rig.restart(() => expect(dies(rig.dataRoot, 'remove', failpoint)).toBe(true));
    expect(rig.database.layers.all()).toHaveLength(layers);
    expect(readdirSync(join(rig.dataRoot, 'layers'))).toHaveLength(layers);
    await rig.load(tarball);
    expect((await rig.save('busybox')).length).toBeGreaterThan(2_000_000);
  });
});
