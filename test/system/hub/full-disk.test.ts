import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { differences } from '../../support/engine/oracle.ts';
import { digestOf, imageManifest } from '../../support/hub/registry-client.ts';
import { basic } from '../../support/hub/serve-registry.ts';
import { needs } from '../../support/needs.ts';
import { SmallDisk } from '../../support/storage/small-disk.ts';

const HUB = '127.0.0.1:5010';
const [CONFIG, LAYER] = ['{"config":{}}', 'a layer'];
const MANIFEST = JSON.stringify(imageManifest(CONFIG, [LAYER]));

needs(
  'root',
  'built',
  'busybox',
  'netns',
)('a hub on a full disk', () => {
  let daemon: TestDaemon;
  let disk: SmallDisk;
  let token = '';
  const ids: string[] = [];

  beforeAll(async () => {
    daemon = await TestDaemon.start({ config: { hub: { address: HUB } } });
    // The root of a test daemon is made anew, on a disk of its own.
    await daemon.stop();
    rmSync(daemon.paths.dataRoot, { recursive: true });
    disk = new SmallDisk(daemon.paths.dataRoot, { mib: 300 });
    await daemon.up();
    await daemon.loadBusybox();
    for (const command of ['sleep 1000', 'sleep 1000']) {
      const { Id } = await daemon.http.ok<{ Id: string }>('POST', '/containers/create', {
        Image: 'busybox',
        Cmd: command.split(' '),
        HostConfig: { NetworkMode: 'none', Init: true },
      });
      await daemon.http.ok('POST', `/containers/${Id}/start`);
      ids.push(Id);
    }
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    await daemon.http.ok('POST', '/hub/admin/organizations', { login: 'acme', admin: 'alice' });
    await daemon.http.ok('POST', '/hub/admin/repositories', { owner: 'alice', name: 'app' });
    const scopes = ['repo', 'write:packages', 'delete:packages', 'delete_repo'];
    const made = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', { scopes });
    token = made.token;
    for (const bytes of [CONFIG, LAYER]) {
      expect(await pushBlob(bytes)).toMatchObject({ status: 201 });
    }
    expect(await registry('PUT', '/v2/alice/app/manifests/1', MANIFEST)).toMatchObject({ status: 201 });
    await daemon.http.ok('POST', '/hub/repos/alice/app/hooks', HOOK);
  });
  afterAll(async () => {
    await daemon.stop();
    disk.unmount();
    await daemon[Symbol.asyncDispose]();
  });

  const HOOK = {
    config: { url: 'http://127.0.0.1:1/', content_type: 'json' },
    events: ['push', 'repository'],
  };

  /** At the address of the hub, as alice. */
  async function registry(method: string, path: string, body = ''): Promise<Answer> {
    const said = await daemon.netns.run(
      'curl',
      '--silent',
      '--noproxy',
      '*',
      '--request',
      method,
      '--write-out',
      '\n%{http_code}',
      '--header',
      `Authorization: ${basic('alice', token)}`,
      '--header',
      `Content-Type: ${OCI}`,
      ...(body === '' ? [] : ['--data-binary', body]),
      `http://${HUB}${path}`,
    );
    const end = said.lastIndexOf('\n');
    const text = said.slice(0, end);
    return { status: Number(said.slice(end + 1)), body: text.startsWith('{') ? JSON.parse(text) : text };
  }

  function pushBlob(bytes: string): Promise<Answer> {
    return registry('POST', `/v2/alice/app/blobs/uploads/?digest=${digestOf(bytes)}`, bytes);
  }

  /** By root, at the engine's socket. */
  async function rest(method: string, path: string, body?: unknown): Promise<Answer> {
    const { status, json } = await daemon.http.request(
      method,
      `/hub${path}`,
      body === undefined ? {} : { body },
    );
    return { status, body: json };
  }

  const REST = { message: expect.stringContaining('no space left'), status: '507' };
  const writes: readonly [string, () => Promise<Answer>, object][] = [
    ['a user', () => rest('POST', '/admin/users', { login: 'bob' }), REST],
    ['a repository', () => rest('POST', '/admin/repositories', { owner: 'alice', name: 'b' }), REST],
    ['a change of one', () => rest('PATCH', '/repos/alice/app', { description: 'x' }), REST],
    ['a token', () => rest('POST', '/admin/users/alice/tokens', { scopes: ['repo'] }), REST],
    [
      'a webhook',
      () => rest('POST', '/repos/alice/app/hooks', { ...HOOK, config: { ...HOOK.config, url: 'http://b/' } }),
      REST,
    ],
    ['a ping of one', () => rest('POST', '/repos/alice/app/hooks/1/pings'), REST],
    ['a note', () => rest('POST', '/repos/alice/app/notes', { markdown: 'text' }), REST],
    [
      'an OAuth application',
      () =>
        rest('POST', '/v1/organizations/acme/oauth-applications', {
          name: 'CI',
          domain: 'http://ci.test',
          redirect_uri: 'http://ci.test/back',
        }),
      { code: 'insufficient_storage', message: expect.stringContaining('no space left') },
    ],
    ['a blob', () => pushBlob('another layer'), { errors: [{ code: 'UNAVAILABLE', message: NO_SPACE }] }],
    [
      'a tag',
      () => registry('PUT', '/v2/alice/app/manifests/2', MANIFEST),
      { errors: [{ code: 'UNAVAILABLE', message: NO_SPACE }] },
    ],
  ];

  it('answers 507 to what writes, in the shape of each part, and to all else as ever', async () => {
    disk.fillUp();
    for (const [what, act, shape] of writes) {
      expect([what, await act()]).toMatchObject([what, { status: 507, body: shape }]);
    }
    // Logged in with a token that there was.
    expect(await registry('GET', '/user')).toMatchObject({ status: 200, body: { login: 'alice' } });
    const scope = 'service=127.0.0.1:5010&scope=repository:alice/app:pull,push';
    expect(await registry('GET', `/token?${scope}`)).toMatchObject({ status: 200 });
    expect(await registry('GET', '/v2/alice/app/manifests/1')).toMatchObject({ status: 200 });
    expect(await registry('GET', `/v2/alice/app/blobs/${digestOf(LAYER)}`)).toEqual({
      status: 200,
      body: LAYER,
    });
    expect(await rest('GET', '/repos/alice/app/hooks')).toMatchObject({ status: 200, body: [{ id: 1 }] });
  });

  it('lets containers be looked at, stopped and removed meanwhile, and what it has be deleted', async () => {
    const [one = '', other = ''] = ids;
    expect(await daemon.http.ok('GET', `/containers/${one}/json`)).toMatchObject({
      State: { Running: true },
    });
    await daemon.http.ok('POST', `/containers/${one}/stop`);
    await daemon.http.ok('DELETE', `/containers/${one}`);
    await daemon.http.ok('DELETE', `/containers/${other}?force=1`);
    expect(await daemon.http.ok('GET', '/containers/json?all=1')).toEqual([]);
    const digest = digestOf(MANIFEST);
    expect(await registry('DELETE', `/v2/alice/app/manifests/${digest}`)).toMatchObject({ status: 202 });
    expect(await registry('GET', '/v2/alice/app/manifests/1')).toMatchObject({ status: 404 });
    expect(await rest('DELETE', '/repos/alice/app/hooks/1')).toMatchObject({ status: 204 });
  });

  it('goes on with all of it once there is room', async () => {
    disk.free();
    await daemon.http.ok('POST', '/hub/repos/alice/app/hooks', HOOK);
    expect((await pushBlob(CONFIG)).status).toBe(201);
    expect((await pushBlob(LAYER)).status).toBe(201);
    for (const [what, act] of writes.filter(([name]) => name !== 'a ping of one')) {
      const { status, body } = await act();
      expect([what, status, body]).toEqual([what, expect.toSatisfy((code) => code < 300), body]);
    }
    await until('deliveries', async () => {
      const [hook] = await daemon.http.ok<{ id: number }[]>('GET', '/hub/repos/alice/app/hooks');
      const made = await daemon.http.ok<{ event: string }[]>(
        'GET',
        `/hub/repos/alice/app/hooks/${hook?.id}/deliveries`,
      );
      return made.some(({ event }) => event === 'push');
    });
    await expect.poll(() => differences(daemon)).toEqual([]);
  });
});

interface Answer {
  status: number;
  body: unknown;
}

const OCI = 'application/vnd.oci.image.manifest.v1+json';
const NO_SPACE = 'no space left on the disk of the hub';
