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
const MAIN = path.resolve(import.meta.dirname, '../../../dist/daemon/main.js');
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

  it('docker search finds what is private for who is logged in, by names that docker pull takes', async () => {
    const search = (word: string) => docker('search', '--format', '{{.Name}}', `${HUB}/${word}`);
    const { token: repo } = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', {
      scopes: ['write:packages'],
    });
    await docker('login', '-u', 'alice', '-p', repo, HUB);
    await daemon.http.ok('POST', '/hub/repos/alice/busybox/notes', {
      metadata: { application: { category: 'shell' }, aliases: ['swiss-army-knife'] },
      text: '# Many tools in one',
    });
    const found = `${HUB}/alice/busybox\n`;
    expect([await search('busybox'), await search('swiss-army'), await search('shell')]).toEqual([
      found,
      found,
      found,
    ]);
    expect(await docker('search', `${HUB}/tools`)).toContain('Many tools in one');
    expect(await search('nothing-of-that')).toBe('');
    expect(await docker('pull', `${(await search('knife')).trim()}:1`)).toContain('Digest: sha256:');
    await docker('logout', HUB);
    expect(await search('busybox')).toBe('');
    await docker('login', '-u', 'alice', '-p', token, HUB);
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

  it("a third party's client pushes by docker with a token for one tag, and is refused for another", async () => {
    const host = `unix://${daemon.paths.socket}`;
    const hub = async (...words: string[]) =>
      (await run(process.execPath, [MAIN, 'hub', ...words, '--host', host])).stdout;
    await hub('org', 'create', 'acme', '--owner', 'alice');
    const redirect = 'http://127.0.0.1:9999/back';
    const site = ['--domain', 'http://127.0.0.1:9999', '--redirect', redirect];
    const app = JSON.parse(
      await hub('app', 'create', '--org', 'acme', '--name', 'CI', ...site, '--scopes', 'branch:write_branch'),
    ) as { id: string; client_id: string; client_secret: string };
    const accesses = 'read_oauth_applications,write_oauth_tokens,read_oauth_tokens';
    const service = JSON.parse(
      await hub('service-token', 'create', '--org', 'acme', '--accesses', accesses),
    ) as { id: string; token: string };
    const asked = ['--user', 'alice', '--client-id', app.client_id, '--redirect', redirect];
    const to = new URL((await hub('authorize', ...asked, '--tags', 'alice/busybox:ci')).trim());
    const query = new URLSearchParams({
      client_id: app.client_id,
      client_secret: app.client_secret,
      code: to.searchParams.get('code') ?? '',
      grant_type: 'authorization_code',
      redirect_uri: redirect,
    });
    const address = `http://${HUB}/v1/organizations/acme/oauth-applications/${app.id}/token?${String(query)}`;
    const header = `Authorization: ${service.id}:${service.token}`;
    const given = JSON.parse(await daemon.netns.run('curl', '-sS', '-X', 'POST', '-H', header, address)) as {
      id: string;
      token: string;
    };
    await docker('logout', HUB);
    await docker('login', '-u', given.id, '-p', given.token, HUB);
    const own = `${HUB}/alice/busybox:ci`;
    await docker('tag', 'busybox:latest', own);
    expect(await docker('push', own)).toMatch(/ci: digest: sha256:/);
    for (const foreign of ['alice/busybox:1', 'alice/busybox:release', 'alice/elsewhere:ci']) {
      await docker('tag', 'busybox:latest', `${HUB}/${foreign}`);
      await expect(docker('push', `${HUB}/${foreign}`)).rejects.toThrow(/denied|not known/);
    }
    await docker('login', '-u', 'alice', '-p', token, HUB);
  });
});
