import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { setAttribute } from '../../../daemon/base/kernel/files/attributes.ts';
import { changeTime } from '../../../daemon/base/kernel/files/files.ts';
import { removeTree } from '../../../storage/files/remove/remove-tree.ts';
import { inheritDirectories } from '../../../storage/layers/inherit.ts';
import { LayerRig } from '../../support/images/layer-rig.ts';
import { needs } from '../../support/needs.ts';
import { tar } from '../../support/images/tar.ts';

const describe = needs('root');

describe('directories that a layer only implies', () => {
  let base: string;

  beforeEach(() => {
    base = mkdtempSync(path.join(tmpdir(), 'berth-inherit-'));
  });
  afterEach(() => {
    removeTree(base);
  });

  /** Makes directories with modes; `opaque` marks one. */
  function layer(name: string, modes: Record<string, number>, opaque?: string): string {
    const root = path.join(base, name);
    mkdirSync(root);
    for (const [directory, mode] of Object.entries(modes)) {
      mkdirSync(path.join(root, directory), { recursive: true });
      chmodSync(path.join(root, directory), mode);
    }
    if (opaque !== undefined) {
      const fd = openSync(path.join(root, opaque), 'r');
      setAttribute(fd, 'trusted.overlay.opaque', Buffer.from('y'));
      closeSync(fd);
    }
    return root;
  }

  test('have the mode of the topmost layer that shows them, and their own where something hides those', async () => {
    const bottom = layer('bottom', {
      tmp: 0o1777,
      'var/log': 0o2750,
      'a/b': 0o700,
      'l/x': 0o711,
      'f/x': 0o711,
    });
    const middle = layer('middle', { tmp: 0o1770, a: 0o750 }, 'a');
    symlinkSync('tmp', path.join(middle, 'l'));
    writeFileSync(path.join(middle, 'f'), '');
    const implied = ['', 'tmp', 'var', 'var/log', 'a', 'a/b', 'l', 'l/x', 'f', 'f/x', 'new'];
    const top = layer('top', Object.fromEntries(implied.slice(1).map((name) => [name, 0o755])));
    await inheritDirectories(top, [middle, bottom], implied);
    const modes = implied
      .slice(1)
      .map((name) => [name, (lstatSync(path.join(top, name)).mode & 0o7777).toString(8)]);
    expect(Object.fromEntries(modes)).toEqual({
      tmp: '1770',
      var: '755',
      'var/log': '2750',
      a: '750',
      'a/b': '755',
      l: '755',
      'l/x': '755',
      f: '755',
      'f/x': '755',
      new: '755',
    });
  });

  test('have its time, also a part of a second before 1970', async () => {
    const bottom = layer('bottom', { old: 0o755 });
    const directory = openSync(path.join(bottom, 'old'), 'r');
    changeTime(directory, { seconds: -2, nanoseconds: 250_000_000 });
    closeSync(directory);
    const top = layer('top', { old: 0o755 });
    await inheritDirectories(top, [bottom], ['old']);
    expect(statSync(path.join(top, 'old'), { bigint: true }).mtimeNs).toBe(-1_750_000_000n);
  });

  test('class 13: are looked up once each, however deep they lie, and others get their turn', async () => {
    using rig = new LayerRig();
    const { diff, implied } = await rig.apply(tar([{ name: `${'d/'.repeat(3000)}f` }]));
    const lower = layer('lower', { tmp: 0o777 });
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const before = process.cpuUsage();
    await inheritDirectories(diff, [lower, lower, lower], implied);
    const { user, system } = process.cpuUsage(before);
    clearInterval(timer);
    // Processor time, in microseconds: each by each of its parents took minutes.
    expect(user + system).toBeLessThan(3_000_000);
    expect(turns).toBeGreaterThan(5);
  }, 120_000);
});
