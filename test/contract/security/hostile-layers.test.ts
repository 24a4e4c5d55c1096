import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isEngineError } from '../../../daemon/base/errors.ts';
import { HOSTILE_TARS, orders } from '../../support/images/hostile-tars.ts';
import { collect, ImagesRig, inPieces } from '../../support/images/images-rig.ts';
import { imageTar } from '../../support/images/images.ts';
import { LayerRig } from '../../support/images/layer-rig.ts';
import { needs } from '../../support/needs.ts';

const describe = needs('root');

describe('hostile layers', () => {
  let rig: LayerRig;

  beforeEach(() => {
    rig = new LayerRig();
  });
  afterEach(() => {
    rig[Symbol.dispose]();
  });

  test.each(HOSTILE_TARS)('class 1: $title stays in the layer', async ({ entries }) => {
    for (const [order, bytes] of orders(entries(rig.canary))) {
      try {
        const layer = await rig.apply(bytes);
        expect(rig.replayed(layer).equals(bytes), order).toBe(true);
        expect(strangers(layer.diff), order).toEqual([]);
      } catch (error) {
        // A layer may be refused for what it is, never for what the engine did not expect.
        expect(isEngineError(error, 'invalid_argument'), `${order}: ${String(error)}`).toBe(true);
      }
      expect(rig.canary.changes(), order).toBeUndefined();
    }
  });

  test('class 1: by load and import too all are refused or removed again, and leave nothing', async () => {
    await using images = await ImagesRig.create();
    const before = footprint(images.dataRoot);
    for (const { title, entries } of HOSTILE_TARS) {
      for (const [order, bytes] of orders(entries(rig.canary))) {
        const where = `${title}, ${order}`;
        await refusedOrDone(where, () => images.load(imageTar([bytes], { tags: ['hostile:1'] })));
        await refusedOrDone(where, () => importTar(images, bytes));
        for (const { id } of images.database.images.all()) {
          await images.images.remove(id, { force: true, noprune: false });
        }
        expect(footprint(images.dataRoot), where).toEqual(before);
        expect(rig.canary.changes(), where).toBeUndefined();
      }
    }
  });
});

async function importTar(images: ImagesRig, bytes: Buffer): Promise<unknown> {
  const signal = new AbortController().signal;
  const options = { repo: 'hostile', tag: '2', message: '', changes: [], signal };
  return await collect(images.images.import(inPieces(bytes), options));
}

async function refusedOrDone(where: string, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    expect(isEngineError(error, 'invalid_argument'), `${where}: ${String(error)}`).toBe(true);
  }
}

function footprint(dataRoot: string): unknown {
  return ['layers', 'tmp'].map((name) => readdirSync(path.join(dataRoot, name)));
}

/** Files of a layer that have a name outside of it. */
function strangers(diff: string): string[] {
  const found = execFileSync('find', [diff, '-type', 'f', '-printf', '%i %n\n'], { encoding: 'utf8' });
  const names = new Map<string, { links: number; seen: number }>();
  for (const [inode = '', links = ''] of found
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' '))) {
    const seen = names.get(inode)?.seen ?? 0;
    names.set(inode, { links: Number(links), seen: seen + 1 });
  }
  return [...names].filter(([, { links, seen }]) => links !== seen).map(([inode]) => inode);
}
