import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { needs } from '../../support/needs.ts';

const run = promisify(execFile);
const HUB = '127.0.0.1:5010';
const NAME = `${HUB}/alice/large:1`;

needs(
  'root',
  'built',
  'docker-cli',
  'skopeo',
  'netns',
)('docker, and the hub of its own host', () => {
  let daemon: TestDaemon;
  let token: string;
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-hub-'));

  beforeAll(async () => {
    daemon = await TestDaemon.start({ config: { hub: { address: HUB } } });
    await daemon.loadBusybox();
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    const scopes = ['write:packages', 'delete:packages'];
    ({ token } = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', {
      scopes,
    }));
    await docker('login', '-u', 'alice', '-p', token, HUB);
    const fill = 'dd if=/dev/urandom of=/random bs=1M count=32 && dd if=/dev/zero of=/zeros bs=1M count=32';
    await docker('run', '--name', 'filled', '--network', 'none', 'busybox', 'sh', '-c', fill);
    await docker('commit', 'filled', NAME);
    await docker('rm', 'filled');
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const docker = async (...args: string[]): Promise<string> =>
    (await run('docker', ['--host', `unix://${daemon.paths.socket}`, '--config', folder, ...args])).stdout;
  const skopeo = (...args: string[]): Promise<string> =>
    daemon.netns.run('skopeo', '--insecure-policy', 'copy', ...args);
  const names = (part: string): string[] => readdirSync(path.join(daemon.paths.dataRoot, part)).toSorted();
  /** KB on the disk. Of containers that were removed the files go in the background: du would trip over them. */
  const used = async (part: string): Promise<number> => {
    await until('nothing is being removed', () => !names('tmp').some((name) => name.startsWith('removed-')));
    return Number.parseInt((await run('du', ['-sk', path.join(daemon.paths.dataRoot, part)])).stdout, 10);
  };
  const layers = (): string[] => names('layers');

  it('a push stores nothing a second time, and what was pushed runs without being unpacked again', async () => {
    const [before, there] = [await used('.'), layers()];
    expect(await docker('push', NAME)).toMatch(/Pushed[^]*digest: sha256:/);
    // 64 MB are in the layer.
    expect((await used('.')) - before).toBeLessThan(1024);
    await docker('rmi', NAME);
    expect(layers()).toEqual(there);
    expect(await docker('run', '--rm', '--network', 'none', NAME, 'ls', '-s', '/random')).toContain('32768');
    expect(layers()).toEqual(there);
    expect(await docker('push', NAME)).toContain('Layer already exists');
  });

  it('others get the same bytes, and what they push is unpacked from where it was stored', async () => {
    const creds = ['--src-creds', `alice:${token}`, '--src-tls-verify=false'];
    const archive = `docker-archive:${path.join(folder, 'archive.tar')}`;
    await skopeo(...creds, `docker://${NAME}`, `${archive}:elsewhere:1`);
    // As gzip: the registry has a file of its own then.
    const other = `${HUB}/alice/pushed:1`;
    await skopeo('--dest-creds', `alice:${token}`, '--dest-tls-verify=false', archive, `docker://${other}`);
    const [hub, temporary] = [await used('hub'), await used('tmp')];
    await docker('rmi', NAME);
    expect(await docker('run', '--rm', '--network', 'none', other, 'ls', '-s', '/random')).toContain('32768');
    expect([await used('hub'), await used('tmp')]).toEqual([hub, temporary]);
  });
});
