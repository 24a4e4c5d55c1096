import { expect, test } from 'vitest';
import { oauthHub, pairOf, REDIRECT } from '../../../support/hub/oauth-hub.ts';
import { imageManifest, RegistryClient } from '../../../support/hub/registry-client.ts';
import { basic } from '../../../support/hub/serve-registry.ts';

/** Two tags of a private repository, and a client with a token for `v1` alone. */
async function oneTag(scope: string) {
  const hub = await oauthHub({ scopes: { branch: ['write_branch', 'read_branch', 'delete_branch'] } });
  const owner = new RegistryClient(
    hub.port,
    basic('alice', await hub.token('alice', 'write:packages', 'delete:packages')),
  );
  await owner.pushImage('acme/secret', 'v1', 'one');
  const other = await owner.pushImage('acme/secret', 'v2', 'two');
  const record = await hub.tokenFor('alice', { tags: ['acme/secret:v1'], scope });
  const third = new RegistryClient(hub.port, pairOf(record));
  return { ...hub, owner, other, third, record };
}

test('a token for one tag moves that tag, and no other one', async () => {
  await using hub = await oneTag('write_branch');
  const { third } = hub;
  await third.pushImage('acme/secret', 'v1', 'three');
  const config = JSON.stringify({ config: { Labels: { content: 'three' } } });
  const manifest = imageManifest(config, ['three']);
  for (const tag of ['v2', 'v3', 'V1']) {
    const refused = await third.putManifest('acme/secret', tag, manifest);
    expect([refused.status, refused.code]).toEqual([403, 'DENIED']);
  }
  const elsewhere = await third.ask('POST', '/v2/acme/open/blobs/uploads/');
  expect([elsewhere.status, elsewhere.code]).toEqual([403, 'DENIED']);
  expect((await third.ask('DELETE', '/v2/acme/secret/manifests/v1')).status).toBe(403);
  expect((await third.ask('GET', '/v2/acme/secret/tags/list')).json).toMatchObject({ tags: ['v1'] });
});

test('a token for one tag pulls that tag, and by digest what it leads to', async () => {
  await using hub = await oneTag('read_branch');
  const { third, owner, other } = hub;
  const got = await third.ask('GET', '/v2/acme/secret/manifests/v1');
  const digest = String(got.headers['docker-content-digest']);
  expect((await third.ask('GET', `/v2/acme/secret/manifests/${digest}`)).status).toBe(200);
  // As it was pushed.
  const [own] = (got.json as { layers: { digest: string }[] }).layers;
  const [foreign] = (other.manifest as { layers: { digest: string }[] }).layers;
  expect((await third.ask('GET', `/v2/acme/secret/blobs/${own?.digest ?? ''}`)).status).toBe(200);
  const refused = [
    await third.ask('GET', '/v2/acme/secret/manifests/v2'),
    await third.ask('GET', `/v2/acme/secret/manifests/${other.digest}`),
    await third.ask('GET', `/v2/acme/secret/blobs/${foreign?.digest ?? ''}`),
    await third.ask('HEAD', `/v2/acme/secret/blobs/${foreign?.digest ?? ''}`),
    await third.ask('POST', '/v2/acme/secret/blobs/uploads/'),
  ];
  expect(refused.map(({ status, code }) => [status, code])).toEqual([
    [403, 'DENIED'],
    [404, 'MANIFEST_UNKNOWN'],
    [404, 'BLOB_UNKNOWN'],
    [404, undefined],
    [403, 'DENIED'],
  ]);
  expect((await owner.ask('GET', '/v2/acme/secret/manifests/v2')).status).toBe(200);
});

test('what another tag has is not taken through a manifest of the own tag, nor written about', async () => {
  await using hub = await oneTag('write_branch');
  const { third, other } = hub;
  const stolen = await third.putManifest('acme/secret', 'v1', other.manifest);
  expect([stolen.status, stolen.code]).toEqual([403, 'DENIED']);
  const config = JSON.stringify({ config: { Labels: { content: 'x' } } });
  await third.pushBlob('acme/secret', config);
  const about = imageManifest(config, [], {
    subject: { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: other.digest, size: 1 },
  });
  const refused = await third.putManifest('acme/secret', 'v1', about);
  expect([refused.status, refused.code]).toEqual([403, 'DENIED']);
});

test('docker login: the id of a token as the name, its secret as the password', async () => {
  await using hub = await oneTag('write_branch');
  const { record } = hub;
  for (const [name, status] of [
    [record.id, 200],
    ['alice', 200],
    ['bob', 401],
    ['aaaaaaaaaaaa', 401],
  ] as const) {
    const client = new RegistryClient(hub.port, basic(name, record.token ?? ''));
    const scope = 'repository:acme/secret:pull,push,delete';
    const answer = await client.ask('GET', `/token?service=hub.test:5010&scope=${scope}`);
    expect(answer.status).toBe(status);
    if (status === 200) {
      const { token } = answer.json as { token: string };
      const third = new RegistryClient(hub.port, `Bearer ${token}`);
      await third.pushImage('acme/secret', 'v1', `by ${name}`);
      expect((await third.putManifest('acme/secret', 'v2', imageManifest('{}', []))).code).toBe('DENIED');
    }
  }
});

test.each([
  // For what, scope, then: v1 and v2 of acme/secret, alice/secret, a repository that is not there yet.
  ['organization', 'write_branches', { organizations: ['acme'] }, [201, 201, 404, 201]],
  ['database', 'write_branches', { repositories: ['acme/secret'] }, [201, 201, 404, 404]],
  ['organization', 'read_branches', { organizations: ['acme'] }, [403, 403, 404, 404]],
])('%s:%s moves tags: %j', async (group, scope, choice, expected) => {
  await using hub = await oauthHub({ scopes: { [group]: [scope] } });
  await new RegistryClient(hub.port, basic('alice', await hub.token('alice', 'repo'))).pushImage(
    'acme/secret',
    'v1',
  );
  const client = new RegistryClient(hub.port, pairOf(await hub.tokenFor('alice', choice)));
  const push = async (name: string, tag: string): Promise<number> => {
    const start = await client.ask('POST', `/v2/${name}/blobs/uploads/`);
    if (start.status !== 202) {
      return start.status;
    }
    await client.pushImage(name, tag);
    return 201;
  };
  expect([
    await push('acme/secret', 'v1'),
    await push('acme/secret', 'v2'),
    await push('alice/secret', 'v1'),
    await push('acme/new', 'v1'),
  ]).toEqual(expected);
});

test('an application never does more than its user may', async () => {
  await using hub = await oauthHub({
    scopes: { organization: ['write_branches', 'write_databases', 'write_webhooks', 'create_databases'] },
  });
  const bobs = pairOf(await hub.tokenFor('bob', { organizations: ['acme'] }));
  const ask = async (method: string, path: string, body: object) =>
    (await hub.ask(method, path, { headers: { Authorization: bobs }, body })).status;
  expect(await ask('PATCH', '/repos/acme/secret', { description: 'x' })).toBe(403);
  expect(await ask('POST', '/repos/acme/secret/hooks', { config: { url: 'https://ci.test/h' } })).toBe(403);
  expect(await ask('POST', '/orgs/acme/repos', { name: 'new' })).toBe(403);
  const push = await new RegistryClient(hub.port, bobs).ask('POST', '/v2/acme/secret/blobs/uploads/');
  expect(push.code).toBe('DENIED');
});

test.each([
  ['read_webhooks', 200, 403, 403],
  ['write_webhooks', 200, 201, 403],
  ['delete_webhooks', 200, 403, 204],
  ['write_branches', 403, 403, 403],
])('hooks with %s: list %s, create %s, remove %s', async (scope, list, create, remove) => {
  await using hub = await oauthHub({ scopes: { database: [scope] } });
  const headers = {
    Authorization: pairOf(await hub.tokenFor('alice', { repositories: ['acme/secret'] })),
  };
  const path = '/repos/acme/secret/hooks';
  const hook = await hub.root.hooks.create('acme', 'secret', { config: { url: 'https://ci.test/a' } });
  const body = { config: { url: 'https://ci.test/b' } };
  expect([
    (await hub.ask('GET', path, { headers })).status,
    (await hub.ask('POST', path, { headers, body })).status,
    (await hub.ask('DELETE', `${path}/${hook.id}`, { headers })).status,
  ]).toEqual([list, create, remove]);
  expect((await hub.ask('GET', '/repos/alice/secret/hooks', { headers })).status).toBe(404);
});

test('a service token with write_branches pushes for its organization', async () => {
  await using hub = await oauthHub();
  const made = await hub.root.oauth.applications.createServiceToken('acme', { accesses: ['write_branches'] });
  const robot = new RegistryClient(hub.port, pairOf(made));
  await robot.pushImage('acme/secret', 'v1');
  await robot.pushImage('acme/fresh', 'v1');
  expect((await robot.ask('POST', '/v2/alice/secret/blobs/uploads/')).status).toBe(404);
  expect((await hub.ask('GET', '/user', { headers: { Authorization: pairOf(made) } })).status).toBe(403);
});

test('what a user has no part in cannot be chosen, and nothing at all neither', async () => {
  await using hub = await oauthHub({ scopes: { database: ['write_branches'], branch: ['write_branch'] } });
  const decide = (more: object) =>
    hub.root.oauth.consent.decideFor({
      login: 'carol',
      client_id: hub.client.client_id,
      redirect_uri: REDIRECT,
      ...more,
    });
  await expect(decide({ repositories: ['acme/secret'] })).rejects.toThrow('repositories: must be of carol');
  await expect(decide({ repositories: ['acme/open'] })).rejects.toThrow('repositories: must be of carol');
  await expect(decide({ tags: ['acme/open:v1', 'nonsense'] })).rejects.toThrow('tags: must be of carol');
  await expect(decide({ organizations: ['acme'] })).rejects.toThrow('organizations: must be of carol');
  await expect(decide({})).rejects.toThrow('must be chosen');
});
