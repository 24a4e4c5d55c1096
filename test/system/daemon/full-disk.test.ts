import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Engine, onReference } from '../../support/engine/engine.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { needsEngine } from '../../support/needs.ts';
import { differences } from '../../support/engine/oracle.ts';
import { SmallDisk } from '../../support/storage/small-disk.ts';
import { tar } from '../../support/images/tar.ts';

// dockerd fills the disk to the last byte.
const suite = onReference ? test.skip : test;
const MIB = 1024 * 1024;
const BIG = Buffer.alloc(24 * MIB, 'big ');
const MANY = Array.from({ length: 3000 }, (_, index) => ({ name: `many/f${index}`, content: '' }));

needsEngine()('a disk that is full', () => {
  const engine = new Engine();
  let disk: SmallDisk;
  let keeper = '';

  beforeAll(async () => {
    await engine.up({});
    // The root of a test daemon is made anew, on a disk of its own.
    await engine.daemon.stop();
    const { dataRoot } = engine.daemon.paths;
    rmSync(dataRoot, { recursive: true });
    disk = new SmallDisk(dataRoot, { mib: 400, inodes: 8000 });
    await engine.daemon.up();
    await engine.daemon.loadBusybox();
    keeper = await engine.start(['sleep', '1000']);
    await engine.exec(keeper, [
      'sh',
      '-c',
      'mkdir /heap; i=0; while [ $i -lt 3000 ]; do : >/heap/$i; i=$((i+1)); done',
    ]);
    await engine.exec(keeper, ['sh', '-c', 'dd if=/dev/zero of=/heap/zeros bs=1M count=24']);
  });
  afterAll(async () => {
    disk.unmount();
    await engine.down();
  });

  const layer = tar([{ name: 'big', content: BIG }, ...MANY]);
  const context = tar([
    { name: 'Dockerfile', content: 'FROM busybox\nCOPY big /big\nCOPY many /many\n' },
    { name: 'big', content: BIG },
    ...MANY,
  ]);
  const verbs: readonly [string, () => Promise<{ status: number; text: string }>, string?][] = [
    [
      'load',
      () =>
        engine.http.request('POST', '/images/load?quiet=1', {
          body: busyboxImageTar({ tags: ['big:1'], extraLayers: [layer] }),
        }),
    ],
    ['import', () => engine.http.request('POST', '/images/create?fromSrc=-&repo=big&tag=1', { body: layer })],
    ['commit', () => engine.http.request('POST', `/commit?container=${keeper}&repo=big&tag=1`)],
    ['build', () => engine.http.request('POST', '/build?t=big:1&nocache=1&forcerm=1', { body: context })],
    [
      'PUT archive',
      () => engine.http.request('PUT', `/containers/${keeper}/archive?path=/`, { body: layer }),
    ],
  ];

  const scarcities: readonly [string, () => void, RegExp][] = [
    ['R25: no bytes', () => disk.fill(70 * MIB), /no space left|ENOSPC/],
    ['R26: no inodes', () => disk.useInodes(600), /no space left|ENOSPC/],
  ];

  suite.each(
    scarcities.flatMap((scarcity) => verbs.map((verb) => [scarcity[0], verb[0], scarcity, verb] as const)),
  )(
    '%s: %s fails with a clear error, nothing half done, and works once there is room',
    async (_what, _verb, [, use, message], [, act]) => {
      // What the test before has removed is deleted behind its answers, which makes room.
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
      const before = await engine.http.ok<{ Id: string }[]>('GET', '/images/json?all=1');
      const layers = readdirSync(path.join(disk.path, 'layers'));
      use();
      const refused = await act();
      expect(`${refused.status} ${refused.text}`).toMatch(message);
      await engine.http.ok('GET', '/info');
      disk.free();
      await engine.http.ok('POST', '/volumes/create', { Name: 'proof' });
      await engine.http.ok('DELETE', '/volumes/proof');
      // Steps of a build that went well are kept.
      await engine.http.ok('POST', '/build/prune');
      expect(await engine.http.ok('GET', '/images/json?all=1')).toHaveLength(before.length);
      await expect.poll(() => readdirSync(path.join(disk.path, 'layers'))).toEqual(layers);
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
      const again = await act();
      expect([200, 201]).toContain(again.status);
      expect(again.text).not.toMatch(message);
      await engine.http.request('DELETE', '/images/big:1?force=1');
      await engine.http.ok('POST', '/build/prune');
      await engine.exec(keeper, ['rm', '-rf', '/many']);
    },
  );

  suite('R27: with no byte left containers are refused or run, stop and go', async () => {
    const old = await engine.create(['sleep', '1000']);
    disk.fillUp();
    const created = await engine.http.request('POST', '/containers/create', { body: { Image: 'busybox' } });
    expect(created.text).toMatch(/no space left|ENOSPC|"Id"/);
    const started = await engine.http.request('POST', `/containers/${old}/start`);
    expect(`${started.status} ${started.text}`).toMatch(/^204|no space left|ENOSPC/);
    expect(await engine.list()).not.toEqual([]);
    disk.free();
    await engine.daemon.restart();
    expect(existsSync(path.join(disk.path, 'berth.db'))).toBe(true);
    expect(await engine.run(['true'])).toMatchObject({ exitCode: 0 });
    await engine.removeAll();
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
  });
});
