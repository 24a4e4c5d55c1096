import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { RegistryClient } from '../../../support/hub/registry-client.ts';
import { basic, serveRegistry } from '../../../support/hub/serve-registry.ts';

const REALM = 'realm="http://hub.test:5010/token",service="hub.test:5010"';

test('who shows nothing is told where to get a token', async () => {
  await using registry = await serveRegistry();
  const { nobody } = registry;
  const alice = await registry.as('alice');
  await alice.pushImage('alice/open', '1');
  const asked = async (method: string, path: string) => {
    const { status, code, headers } = await nobody.ask(method, path);
    return [status, code, headers['www-authenticate']];
  };
  const challenge = (scope: string) => [401, 'UNAUTHORIZED', `Bearer ${REALM},scope="${scope}"`];
  expect(await asked('GET', '/v2/')).toEqual([401, 'UNAUTHORIZED', `Bearer ${REALM}`]);
  expect(await asked('GET', '/v2/_catalog')).toEqual(challenge('registry:catalog:*'));
  for (const name of ['alice/secret', 'alice/nothing', 'nobody/nothing']) {
    expect(await asked('GET', `/v2/${name}/manifests/1`)).toEqual(challenge(`repository:${name}:pull`));
  }
  expect(await asked('POST', '/v2/alice/open/blobs/uploads/')).toEqual(
    challenge('repository:alice/open:pull,push'),
  );
  expect(await asked('DELETE', '/v2/alice/open/manifests/1')).toEqual(
    challenge('repository:alice/open:delete'),
  );
  expect((await asked('GET', '/v2/alice/open/manifests/1'))[0]).toBe(200);
});

test.each([
  ['alice', ['write:packages'], 'alice/secret', 200, 202, 403],
  ['alice', ['repo'], 'alice/secret', 200, 202, 403],
  ['alice', ['read:packages', 'delete:packages'], 'alice/secret', 200, 403, 202],
  ['alice', ['read:org'], 'alice/secret', 404, 404, 404],
  ['alice', ['read:org'], 'alice/open', 200, 403, 403],
  ['bob', ['write:packages', 'delete:packages'], 'acme/secret', 200, 403, 403],
  ['bob', ['write:packages', 'delete:packages'], 'alice/open', 200, 403, 403],
  ['carol', ['write:packages', 'delete:packages'], 'alice/secret', 404, 404, 404],
  ['carol', ['write:packages', 'delete:packages'], 'alice/nothing', 404, 404, 404],
])('%s with %j at %s: pull %s, push %s, delete %s', async (user, scopes, name, pull, push, remove) => {
  await using registry = await serveRegistry();
  const owner = await registry.as('alice');
  for (const each of ['alice/open', 'alice/secret', 'acme/secret']) {
    await owner.pushImage(each, '1');
  }
  const client = await registry.as(user, ...scopes);
  const token = await registry.hub.token(user, ...scopes);
  const statuses = async (by: RegistryClient) => [
    (await by.ask('GET', `/v2/${name}/manifests/1`)).status,
    (await by.ask('POST', `/v2/${name}/blobs/uploads/`)).status,
    (await by.ask('DELETE', `/v2/${name}/manifests/1`)).status,
  ];
  const { json } = await new RegistryClient(registry.server.port, basic(user, token)).ask(
    'GET',
    `/token?service=hub.test:5010&scope=repository:${name}:pull,push,delete`,
  );
  expect(json).toMatchObject({ token: expect.any(String) });
  expect(await statuses(client)).toEqual([pull, push, remove]);
});

test('an access token does what it was given for, and no more', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  await alice.pushImage('alice/secret', '1');
  const { status, json } = await alice.ask(
    'GET',
    '/token?scope=repository:alice/secret:pull&offline_token=true',
  );
  expect([status, json]).toEqual([
    200,
    {
      token: expect.any(String),
      access_token: expect.any(String),
      expires_in: 300,
      issued_at: expect.stringMatching(/^\d{4}-/),
      refresh_token: expect.any(String),
    },
  ]);
  const { token, refresh_token: refresh } = json as { token: string; refresh_token: string };
  const bearer = new RegistryClient(registry.server.port, `Bearer ${token}`);
  expect((await bearer.ask('GET', '/v2/')).status).toBe(200);
  expect((await bearer.ask('GET', '/v2/alice/secret/manifests/1')).status).toBe(200);
  for (const [method, path, scope] of [
    ['POST', '/v2/alice/secret/blobs/uploads/', 'repository:alice/secret:pull,push'],
    ['GET', '/v2/alice/open/manifests/1', 'repository:alice/open:pull'],
    ['GET', '/v2/_catalog', 'registry:catalog:*'],
  ] as const) {
    const answer = await bearer.ask(method, path);
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([
      401,
      `Bearer ${REALM},scope="${scope}",error="insufficient_scope"`,
    ]);
  }
  const form = (fields: Record<string, string>) =>
    registry.nobody.ask('POST', '/token', { body: new URLSearchParams(fields).toString() });
  const scope = 'repository:alice/secret:pull,push';
  expect((await form({ grant_type: 'refresh_token', refresh_token: refresh, scope })).json).toMatchObject({
    access_token: expect.any(String),
    token_type: 'Bearer',
    scope,
  });
  expect(await form({ grant_type: 'refresh_token', refresh_token: token })).toMatchObject({ status: 401 });
  expect(await form({ grant_type: 'password', username: 'alice', password: 'wrong' })).toMatchObject({
    status: 401,
    code: 'UNAUTHORIZED',
  });
  expect(await form({ grant_type: 'code' })).toMatchObject({ status: 400, code: 'UNSUPPORTED' });
  const [secretToken] = registry.hub.root.tokens.list('alice').toReversed();
  await registry.hub.root.tokens.revoke('alice', secretToken?.id ?? 0);
  const revoked = await bearer.ask('GET', '/v2/alice/secret/manifests/1');
  expect([revoked.status, revoked.headers['www-authenticate']]).toEqual([
    401,
    `Bearer ${REALM},error="invalid_token"`,
  ]);
  expect(await form({ grant_type: 'refresh_token', refresh_token: refresh })).toMatchObject({ status: 401 });
});

test('an access token ends, and one that is forged was none', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const { json } = await alice.ask('GET', '/token?scope=repository:alice/open:pull');
  const { token } = json as { token: string };
  const status = async (text: string) =>
    (await new RegistryClient(registry.server.port, `Bearer ${text}`).ask('GET', '/v2/')).status;
  const [head = '', body = '', sign = ''] = token.split('.');
  const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
  expect(await status(token)).toBe(200);
  expect(await status(`${head}.${body}x.${sign}`)).toBe(401);
  expect(await status(`${none}.${body}.x`)).toBe(401);
  await registry.hub.clock.advance(301_000);
  expect(await status(token)).toBe(401);
});

test('nobody with an anonymous token pulls what is public, and sees it in the catalogue', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  for (const name of ['alice/open', 'alice/secret', 'acme/open']) {
    await alice.pushImage(name, '1');
  }
  const scope =
    'scope=repository:alice/open:pull,push&scope=repository:alice/secret:pull&scope=registry:catalog:*';
  const { json } = await registry.nobody.ask('GET', `/token?${scope}`);
  const anonymous = new RegistryClient(registry.server.port, `Bearer ${(json as { token: string }).token}`);
  expect((await anonymous.ask('GET', '/v2/')).status).toBe(200);
  expect((await anonymous.ask('GET', '/v2/alice/open/manifests/1')).status).toBe(200);
  expect((await anonymous.ask('GET', '/v2/alice/secret/manifests/1')).status).toBe(401);
  expect((await anonymous.ask('POST', '/v2/alice/open/blobs/uploads/')).status).toBe(401);
  expect((await anonymous.ask('GET', '/v2/_catalog')).json).toEqual({
    repositories: ['acme/open', 'alice/open'],
  });
  expect((await alice.ask('GET', '/v2/_catalog?n=2')).json).toEqual({
    repositories: ['acme/open', 'alice/open'],
  });
  expect((await alice.ask('GET', '/v2/_catalog?last=alice/open')).json).toEqual({
    repositories: ['alice/secret'],
  });
});

test.each([
  ['alice', 'alice/new', 201],
  ['alice', 'acme/new', 201],
  ['bob', 'acme/new', 404],
  ['bob', 'alice/new', 404],
  ['bob', 'bob/x.git', 400],
])('a push of %s makes %s: %s', async (user, name, status) => {
  await using registry = await serveRegistry();
  const client = await registry.as(user);
  const { json } = await client.ask('GET', `/token?scope=repository:${name}:pull,push`);
  const pusher = new RegistryClient(registry.server.port, `Bearer ${(json as { token: string }).token}`);
  const pushes = await Promise.all(
    ['one', 'two', 'three'].map((bytes) => pusher.pushBlob(name, bytes).then(() => 201, String)),
  );
  expect(pushes).toEqual(
    Array.from({ length: 3 }, () => (status === 201 ? 201 : expect.stringContaining(`: ${status}`))),
  );
  const [owner = '', repository = ''] = name.split('/');
  if (status === 201) {
    expect(registry.hub.root.repositories.get(owner, repository)).toMatchObject({ private: true });
  }
});

test('wrong credentials are 401, and too many of them lock the name', async () => {
  await using registry = await serveRegistry();
  const wrong = new RegistryClient(registry.server.port, basic('alice', 'wrong'));
  const answer = await wrong.ask('GET', '/v2/');
  expect([answer.status, answer.code, answer.headers['www-authenticate']]).toEqual([
    401,
    'UNAUTHORIZED',
    `Bearer ${REALM}`,
  ]);
  for (let count = 0; count < 10; count += 1) {
    await wrong.ask('GET', '/token');
  }
  const alice = await registry.as('alice');
  expect(await alice.ask('GET', '/v2/')).toMatchObject({ status: 403, code: 'DENIED' });
});

test('pulls are counted as Docker Hub says it, and beyond the limit it is 429', async () => {
  await using registry = await serveRegistry({ registryAnonymousPerMinute: 2 });
  const alice = await registry.as('alice');
  await alice.pushImage('alice/open', '1');
  const pull = async (method = 'GET') => {
    const { status, code, headers } = await registry.nobody.ask(method, '/v2/alice/open/manifests/1');
    return [status, code, headers['ratelimit-limit'], headers['ratelimit-remaining']];
  };
  expect(await pull('HEAD')).toEqual([200, undefined, undefined, undefined]);
  expect(await pull()).toEqual([200, undefined, '2;w=60', '1;w=60']);
  expect(await pull()).toEqual([200, undefined, '2;w=60', '0;w=60']);
  const refused = await registry.nobody.ask('GET', '/v2/alice/open/manifests/1');
  expect(refused).toMatchObject({ status: 429, code: 'TOOMANYREQUESTS', headers: { 'retry-after': '60' } });
  expect((await registry.server.ask('GET', '/rate_limit')).body).toMatchObject({
    resources: { registry_pull: { limit: 2, used: 2, remaining: 0 }, registry_push: { used: 0 } },
  });
});

test('an owner keeps no more than its quota, and has room again when it has deleted some', async () => {
  await using registry = await serveRegistry({}, 1_000);
  const alice = await registry.as('alice');
  const big = Buffer.alloc(900, 'x');
  const digest = await alice.pushBlob('alice/open', big);
  const mount = `/v2/alice/secret/blobs/uploads/?mount=${digest}&from=alice/open`;
  expect((await alice.ask('POST', mount)).status).toBe(201);
  const denied = { status: 403, code: 'DENIED' };
  const push = async (body: Buffer) => {
    const path = String((await alice.ask('POST', '/v2/alice/open/blobs/uploads/')).headers.location);
    return await alice.ask('PATCH', path, { body, chunked: true });
  };
  expect(await push(Buffer.alloc(200))).toMatchObject(denied);
  expect(await alice.ask('POST', `/v2/acme/open/blobs/uploads/`)).toMatchObject({ status: 202 });
  for (const name of ['alice/open', 'alice/secret']) {
    expect((await alice.ask('DELETE', `/v2/${name}/blobs/${digest}`)).status).toBe(202);
  }
  expect((await push(Buffer.alloc(200))).status).toBe(202);
});

test('uploads that are under way take of the quota, one beside the other, until they end', async () => {
  await using registry = await serveRegistry({}, 1_000);
  const alice = await registry.as('alice');
  const begin = async (name: string) =>
    String((await alice.ask('POST', `/v2/${name}/blobs/uploads/`)).headers.location);
  const send = (path: string) => alice.ask('PATCH', path, { body: Buffer.alloc(600, 'x'), chunked: true });
  const [one, other] = [await begin('alice/open'), await begin('alice/secret')];
  expect((await send(one)).status).toBe(202);
  const refused = await send(other);
  expect(refused).toMatchObject({
    status: 403,
    code: 'DENIED',
    json: { errors: [{ detail: { quota: 1_000, used: 600, uploads: 600 } }] },
  });
  expect((await alice.ask('GET', other)).status).toBe(404);
  expect((await alice.ask('POST', '/v2/acme/open/blobs/uploads/')).status).toBe(202);
  expect((await send(await begin('alice/secret'))).status).toBe(403);
  expect((await alice.ask('DELETE', one)).status).toBe(204);
  expect((await send(await begin('alice/secret'))).status).toBe(202);
});

test('an upload that was left gives way to another one where the quota has no room for both', async () => {
  await using registry = await serveRegistry({}, 1_000);
  const alice = await registry.as('alice');
  const send = async (bytes: number) => {
    const path = String((await alice.ask('POST', '/v2/alice/open/blobs/uploads/')).headers.location);
    const { status } = await alice.ask('PATCH', path, { body: Buffer.alloc(bytes, 'x'), chunked: true });
    return { path, status };
  };
  const [small, left] = [await send(100), await send(500)];
  await registry.hub.clock.advance(limits.hubUploadLeftMs + 1);
  expect((await send(300)).status).toBe(202);
  expect((await alice.ask('GET', left.path)).status).toBe(204);
  expect((await send(600)).status).toBe(202);
  expect((await send(200)).status).toBe(403);
  expect([(await alice.ask('GET', left.path)).status, (await alice.ask('GET', small.path)).status]).toEqual([
    404, 404,
  ]);
});
