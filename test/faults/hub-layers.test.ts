import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { TestDaemon } from '../support/engine/daemon.ts';
import { until } from '../support/engine/http.ts';
import { differences } from '../support/engine/oracle.ts';
import { needs } from '../support/needs.ts';
import { readDatabase } from '../support/storage/database-copy.ts';

const run = promisify(execFile);
const HUB = '127.0.0.1:5010';
const TYPE = 'application/vnd.docker.distribution.manifest.v2+json';

needs(
  'root',
  'built',
  'netns',
)('layers that the engine and its hub share', () => {
  let daemon: TestDaemon;
  let token: string;
  let asked = 0;
  /** Each test has a repository and a layer of its own. */
  let made = 0;
  const name = (): string => `alice/busybox${made}`;
  const repository = (): string => `${HUB}/${name()}`;
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-shared-'));

  beforeAll(async () => {
    daemon = await TestDaemon.start({ config: { hub: { address: HUB } }, armable: true });
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    const scopes = ['write:packages', 'delete:packages'];
    ({ token } = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', {
      scopes,
    }));
  });
  beforeEach(() => {
    made += 1;
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Loads the image and pushes it. Answers what the push says at its end. */
  const push = async (): Promise<string> => {
    const layer = [{ name: 'own', content: `of ${made}` }];
    await daemon.loadBusybox({ tags: [`${repository()}:1`], extraLayers: [layer] });
    const auth = Buffer.from(JSON.stringify({ username: 'alice', password: token })).toString('base64url');
    const { text } = await daemon.http.request('POST', `/images/${repository()}/push?tag=1`, {
      headers: { 'X-Registry-Auth': auth },
    });
    return text;
  };
  /** As a client elsewhere. */
  const ask = async (method: string, what: string, ...more: string[]): Promise<string> => {
    const url = `http://${HUB}/v2/${name()}/${what}`;
    asked += 1;
    const output = path.join(folder, String(asked));
    await daemon.netns.run('curl', '-sfX', method, '-u', `alice:${token}`, ...more, '-o', output, url);
    return output;
  };
  const shared = (): number =>
    readDatabase(path.join(daemon.paths.dataRoot, 'berth.db'), (database) =>
      Number(database.prepare('SELECT count(*) FROM hub_layers').pluck().get()),
    );
  /** Takes all of it away; the collector comes a little later, or at the next start. */
  const remove = async (): Promise<void> => {
    await daemon.http.request('DELETE', `/images/${repository()}:1`);
    const url = `http://${HUB}/v2/${name()}/manifests/1`;
    const told = ['-u', `alice:${token}`, '-H', `Accept: ${TYPE}`];
    const head = await daemon.netns.run('curl', '-sfI', ...told, url);
    const digest = /docker-content-digest: (\S+)/i.exec(head)?.[1] ?? '';
    await ask('DELETE', `manifests/${digest}`);
  };
  /** Nothing is missing and nothing is left, and all of the image comes to a client as it was. */
  const isWhole = async (): Promise<void> => {
    await expect.poll(() => differences(daemon)).toEqual([]);
    const { stdout } = await run('cat', [await ask('GET', 'manifests/1', '-H', `Accept: ${TYPE}`)]);
    const { layers } = JSON.parse(stdout) as { layers: { digest: string; mediaType: string }[] };
    for (const { digest, mediaType } of layers) {
      expect(mediaType).toBe('application/vnd.docker.image.rootfs.diff.tar');
      const { stdout: bytes } = await run('cat', [await ask('GET', `blobs/${digest}`)], {
        encoding: 'buffer',
        maxBuffer: 2 ** 28,
      });
      expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(digest);
    }
  };

  it.each([
    ['hub.layer.keep', 'released'],
    ['hub.blob.adopt', 'released'],
    // A push that was told of a blob and died may go on: nothing takes it away for an hour.
    ['hub.manifest.publish', 'kept'],
    ['images.push.commit', 'kept'],
  ] as const)(
    'kill -9 of a push at %s: the next start has what it needs, and no more',
    async (point, after) => {
      const before = shared();
      daemon.arm(`${point}=sigkill`);
      await expect(push()).rejects.toThrow();
      await daemon.ended();
      daemon.arm('');
      await daemon.up();
      await expect.poll(() => differences(daemon)).toEqual([]);
      expect(await push()).toContain('digest: sha256:');
      await isWhole();
      const whole = shared();
      await remove();
      if (after === 'released') {
        await until('the hub to release it', () => shared() === before);
      }
      expect(shared()).toBe(after === 'released' ? before : whole);
    },
  );

  it.each(['hub.gc.unlink', 'hub.layer.release', 'hub.layer.collect', 'images.collect.commit'])(
    'kill -9 of a removal at %s: the next start ends it, and a push brings all of it again',
    async (point) => {
      const before = shared();
      expect(await push()).toContain('digest: sha256:');
      daemon.arm(`${point}=sigkill`);
      await remove();
      await daemon.ended();
      daemon.arm('');
      await daemon.up();
      await expect.poll(() => differences(daemon)).toEqual([]);
      expect(await push()).toContain('digest: sha256:');
      await isWhole();
      await remove();
      await until('the hub to release it', () => shared() === before);
    },
  );

  it('a layer stays while a client reads it, whoever takes it away meanwhile', async () => {
    const before = shared();
    expect(await push()).toContain('digest: sha256:');
    const manifest = await run('cat', [await ask('GET', 'manifests/1', '-H', `Accept: ${TYPE}`)]);
    const [layer] = (JSON.parse(manifest.stdout) as { layers: { digest: string }[] }).layers;
    const reading = ask('GET', `blobs/${layer?.digest}`, '--limit-rate', '300k');
    await remove();
    await until('the hub to release it', () => shared() === before);
    const { stdout: sum } = await run('sha256sum', [await reading]);
    expect(`sha256:${sum.slice(0, 64)}`).toBe(layer?.digest);
    await expect.poll(() => differences(daemon)).toEqual([]);
  });
});
