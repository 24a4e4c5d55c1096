import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { needs } from '../../support/needs.ts';
import { TestRegistry } from '../../support/registry/registry.ts';

const run = promisify(execFile);
const HUB = '127.0.0.1:5010';
const NAME = `${HUB}/alice/busybox:1`;

needs(
  'root',
  'built',
  'docker-cli',
  'docker-registry',
  'skopeo',
  'netns',
)('clients and the registry of the hub', () => {
  let daemon: TestDaemon;
  let other: TestRegistry;
  let token: string;
  const config = mkdtempSync(path.join(tmpdir(), 'berth-hub-'));

  beforeAll(async () => {
    daemon = await TestDaemon.start({ config: { hub: { address: HUB } } });
    await daemon.loadBusybox();
    other = await TestRegistry.start({ port: 5000, enter: (...argv) => daemon.netns.enter(...argv) });
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    const scopes = ['write:packages', 'delete:packages'];
    ({ token } = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', {
      scopes,
    }));
  });
  afterAll(async () => {
    await other[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
    rmSync(config, { recursive: true, force: true });
  });

  const docker = async (...args: string[]): Promise<string> =>
    (await run('docker', ['--host', `unix://${daemon.paths.socket}`, '--config', config, ...args])).stdout;
  const skopeo = (...args: string[]): Promise<string> =>
    daemon.netns.run('skopeo', '--insecure-policy', ...args);

  it('docker logs in with a name and a token, pushes, and pulls what it pushed', async () => {
    await expect(docker('login', '-u', 'alice', '-p', 'guessed-wrong', HUB)).rejects.toThrow(
      /unauthorized|401/,
    );
    expect(await docker('login', '-u', 'alice', '-p', token, HUB)).toContain('Login Succeeded');
    await docker('tag', 'busybox:latest', NAME);
    const pushed = await docker('push', NAME);
    const digest = /digest: (sha256:[0-9a-f]{64})/.exec(pushed)?.[1] ?? '';
    expect(digest).not.toBe('');
    await docker('rmi', NAME);
    expect(await docker('pull', NAME)).toContain(`Digest: ${digest}`);
    expect(await docker('run', '--rm', '--network', 'none', NAME, 'echo', 'runs')).toBe('runs\n');
    expect(await docker('push', NAME)).toContain('Layer already exists');
  });

  it('docker tells what was refused: nobody sees what is private, and pushes to what is not its own', async () => {
    await docker('logout', HUB);
    await docker('rmi', NAME);
    await expect(docker('pull', NAME)).rejects.toThrow(/unauthorized|denied|authentication/);
    await docker('login', '-u', 'alice', '-p', token, HUB);
    await docker('tag', 'busybox:latest', `${HUB}/somebody/busybox:1`);
    await expect(docker('push', `${HUB}/somebody/busybox:1`)).rejects.toThrow(
      /denied|not known|unauthorized/,
    );
  });

  it('skopeo copies both ways between the hub and docker-registry, and deletes', async () => {
    const there = `docker://${other.address}/copied/busybox:1`;
    const here = `docker://${HUB}/alice/busybox`;
    const creds = `alice:${token}`;
    // Else it would take what it knows of the same layers there: a push from the hub's own host is uncompressed.
    const plain = ['--src-tls-verify=false', '--dest-tls-verify=false', '--preserve-digests'];
    await skopeo('copy', ...plain, '--src-creds', creds, `${here}:1`, there);
    await skopeo('copy', ...plain, '--dest-creds', creds, there, `${here}:2`);
    const inspect = async (...args: string[]) =>
      JSON.parse(await skopeo('inspect', '--tls-verify=false', ...args)) as {
        Digest: string;
        RepoTags: string[];
      };
    const back = await inspect('--creds', creds, `${here}:2`);
    expect([back.Digest, back.RepoTags]).toEqual([(await inspect(there)).Digest, ['1', '2']]);
    await skopeo('delete', '--tls-verify=false', '--creds', creds, `${here}:2`);
    await expect(inspect('--creds', creds, `${here}:2`)).rejects.toThrow(/unknown/);
  });
});
