import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { importPKCS8, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import type { CreatedHubApp } from '../../../api/types/hub/applications.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { servedHub } from '../../support/hub/served-hub.ts';

type Hub = Awaited<ReturnType<typeof servedHub>>;

const PERMISSIONS = { packages: 'write', administration: 'read' } as const;

async function installed(hub: Hub, repositories?: readonly string[]) {
  const app = await hub.root.applications.createApp({
    name: 'Deploy Bot',
    owner: 'alice',
    permissions: PERMISSIONS,
    events: ['push'],
  });
  const { id } = await hub.root.applications.install('deploy-bot', 'acme', repositories);
  return { app, id };
}

function nowS(hub: Hub): number {
  return Number(hub.clock.nowNano() / 1_000_000_000n);
}

async function jwt(hub: Hub, app: CreatedHubApp, claims: Record<string, unknown> = {}): Promise<string> {
  const now = nowS(hub);
  const key = await importPKCS8(app.pem, 'RS256');
  return new SignJWT({ iss: String(app.id), iat: now - 60, exp: now + 540, ...claims })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(key);
}

async function tokenOf(hub: Hub, app: CreatedHubApp, id: number, body: object = {}): Promise<string> {
  const answer = await hub.ask('POST', `/app/installations/${id}/access_tokens`, {
    headers: { Authorization: `Bearer ${await jwt(hub, app)}` },
    body,
  });
  expect(answer.status).toBe(201);
  return String(Object(answer.body).token);
}

test('an app by its JSON web token: itself, its installations, a token for one of them', async () => {
  await using hub = await servedHub();
  const { app, id } = await installed(hub);
  const bearer = { Authorization: `Bearer ${await jwt(hub, app, { iss: app.client_id })}` };
  expect((await hub.ask('GET', '/app', { headers: bearer })).body).toMatchObject({
    id: app.id,
    slug: 'deploy-bot',
    client_id: app.client_id,
    owner: { login: 'alice' },
    permissions: { packages: 'write', administration: 'read', metadata: 'read' },
    installations_count: 1,
  });
  const one = { id, app_id: app.id, account: { login: 'acme' }, repository_selection: 'all' };
  expect((await hub.ask('GET', '/app/installations', { headers: bearer })).body).toMatchObject([one]);
  for (const path of [
    `/app/installations/${id}`,
    '/repos/acme/secret/installation',
    '/orgs/acme/installation',
  ]) {
    expect((await hub.ask('GET', path, { headers: bearer })).body).toMatchObject(one);
  }
  for (const path of ['/app/installations/99', '/repos/alice/open/installation', '/users/bob/installation']) {
    expect((await hub.ask('GET', path, { headers: bearer })).status).toBe(404);
  }
  const made = await hub.ask('POST', `/app/installations/${id}/access_tokens`, { headers: bearer });
  expect(made).toMatchObject({
    status: 201,
    body: {
      token: expect.stringMatching(/^bhi_/),
      expires_at: '2026-01-01T01:00:00Z',
      permissions: { packages: 'write', administration: 'read', metadata: 'read' },
      repository_selection: 'all',
    },
  });
});

test('a token of an installation: what it sees, its hour, and its end', async () => {
  await using hub = await servedHub();
  const { app, id } = await installed(hub, ['secret']);
  const token = await tokenOf(hub, app, id);
  const status = async (method: string, path: string, body?: object) =>
    (await hub.ask(method, path, { token, ...(body && { body }) })).status;
  expect((await hub.ask('GET', '/installation/repositories', { token })).body).toMatchObject({
    total_count: 1,
    repository_selection: 'selected',
    repositories: [{ full_name: 'acme/secret', permissions: { push: true } }],
  });
  expect(await status('GET', '/repos/acme/secret')).toBe(200);
  expect(await status('GET', '/repos/acme/open')).toBe(200);
  expect(await status('GET', '/repos/alice/secret')).toBe(404);
  expect(await status('GET', '/user')).toBe(403);
  const refused = await hub.ask('PATCH', '/repos/acme/secret', { token, body: { description: 'x' } });
  expect(refused).toMatchObject({
    status: 403,
    headers: { 'x-accepted-svc-permissions': 'administration=write' },
    body: { message: 'Resource not accessible by integration' },
  });
  await hub.clock.advance(limits.hubInstallationTokenMs);
  expect(await status('GET', '/repos/acme/secret')).toBe(401);
  const next = await tokenOf(hub, app, id);
  expect((await hub.ask('DELETE', '/installation/token', { token: next })).status).toBe(204);
  expect((await hub.ask('GET', '/repos/acme/secret', { token: next })).status).toBe(401);
});

test.each([
  [{ permissions: { packages: 'read' } }, 201],
  [{ repositories: ['open'], permissions: { packages: 'read' } }, 201],
  [{ permissions: { administration: 'write' } }, 422],
  [{ permissions: { contents: 'read' } }, 422],
  [{ permissions: { packages: 'admin' } }, 422],
  [{ repositories: ['nothing'] }, 422],
  [{ repository_ids: [4] }, 201],
  [{ repository_ids: [1] }, 422],
  [{ nope: 1 }, 422],
])('a token narrowed by %j: %s', async (body, status) => {
  await using hub = await servedHub();
  const { app, id } = await installed(hub);
  const headers = { Authorization: `Bearer ${await jwt(hub, app)}` };
  const answer = await hub.ask('POST', `/app/installations/${id}/access_tokens`, { headers, body });
  expect(answer.status).toBe(status);
  if ('repositories' in body && status === 201) {
    const { token } = Object(answer.body);
    expect(answer.body).toMatchObject({
      repository_selection: 'selected',
      repositories: [{ full_name: 'acme/open' }],
      permissions: { packages: 'read', metadata: 'read' },
    });
    expect((await hub.ask('GET', '/repos/acme/secret', { token })).status).toBe(404);
  }
});

/** What attackers send, by the claims or the making of a JSON web token. */
const FORGED: Readonly<Record<string, (hub: Hub, app: CreatedHubApp) => Promise<string>>> = {
  expired: (hub, app) => jwt(hub, app, { exp: nowS(hub) - 61 }),
  'too long': (hub, app) => jwt(hub, app, { exp: nowS(hub) + 661 }),
  'made in the future': (hub, app) => jwt(hub, app, { iat: nowS(hub) + 61 }),
  'of a foreign issuer': (hub, app) => jwt(hub, app, { iss: '99' }),
  'of a client id that is none': (hub, app) => jwt(hub, app, { iss: 'Iv1.0000000000000000' }),
  'without end': (hub, app) => jwt(hub, app, { exp: undefined }),
  'with another key': async (hub, app) => {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    return jwt(hub, { ...app, pem: privateKey });
  },
  'with no signature': async (hub, app) => {
    const [, payload = ''] = (await jwt(hub, app)).split('.');
    return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
  },
  'with the public key as a secret': async (hub, app) => {
    const pem = createPublicKey(app.pem).export({ type: 'spki', format: 'pem' });
    return new SignJWT({ iss: String(app.id), iat: nowS(hub), exp: nowS(hub) + 60 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(pem));
  },
  'with another payload': async (hub, app) => {
    const [header, , signature] = (await jwt(hub, app)).split('.');
    const payload = { iss: String(app.id), iat: nowS(hub), exp: nowS(hub) + 300 };
    return [header, Buffer.from(JSON.stringify(payload)).toString('base64url'), signature].join('.');
  },
  'of rubbish': () => Promise.resolve('eyJ.x.y'),
};

test.each(Object.entries(FORGED))('a JSON web token %s is refused', async (_name, forge) => {
  await using hub = await servedHub();
  const { app } = await installed(hub);
  const answer = await hub.ask('GET', '/app', {
    headers: { Authorization: `Bearer ${await forge(hub, app)}` },
  });
  expect([answer.status, Object(answer.body).message]).toEqual([
    401,
    expect.stringMatching(/could not be decoded|claim/),
  ]);
});

test('a JSON web token goes by Bearer only, and for its app only; wrong ones are counted', async () => {
  await using hub = await servedHub();
  const { app, id } = await installed(hub);
  const right = await jwt(hub, app);
  const ask = async (path: string, authorization: string) =>
    (await hub.ask('GET', path, { headers: { Authorization: authorization } })).status;
  expect(await ask('/app', `token ${right}`)).toBe(401);
  expect(await ask('/app', `Basic ${Buffer.from(`x:${right}`).toString('base64')}`)).toBe(401);
  expect(await ask('/user', `Bearer ${right}`)).toBe(403);
  expect(await ask('/repos/acme/open', `Bearer ${right}`)).toBe(200);
  expect(await ask('/repos/acme/secret', `Bearer ${right}`)).toBe(404);
  const other = await hub.root.applications.createApp({ name: 'Other', owner: 'bob' });
  expect(await ask(`/app/installations/${id}`, `Bearer ${await jwt(hub, other)}`)).toBe(404);
  expect(await ask('/app', `token ${await hub.token('alice', 'repo')}`)).toBe(401);
  for (let count = 0; count < limits.hubBadCredentialsMax; count += 1) {
    await ask('/app', 'Bearer eyJ.x.y');
  }
  expect(await ask('/app', `Bearer ${right}`)).toBe(403);
});

test('keys of an app change one after another; the last one stays', async () => {
  await using hub = await servedHub();
  const { app } = await installed(hub);
  const { applications } = hub.root;
  await expect(applications.removeKey('deploy-bot', 1)).rejects.toMatchObject({ code: 'conflict' });
  const { id, pem } = await applications.addKey('deploy-bot');
  const ask = async (key: string) => {
    const headers = { Authorization: `Bearer ${await jwt(hub, { ...app, pem: key })}` };
    return (await hub.ask('GET', '/app', { headers })).status;
  };
  expect([await ask(app.pem), await ask(pem)]).toEqual([200, 200]);
  await applications.removeKey('deploy-bot', 1);
  expect([id, await ask(app.pem), await ask(pem)]).toEqual([2, 401, 200]);
});

test('a suspended installation has no tokens until it is not; a removed one never again', async () => {
  await using hub = await servedHub();
  const { app, id } = await installed(hub);
  const token = await tokenOf(hub, app, id);
  const seen = async () => (await hub.ask('GET', '/repos/acme/secret', { token })).status;
  const suspended = async (method: string) => {
    const headers = { Authorization: `Bearer ${await jwt(hub, app)}` };
    return (await hub.ask(method, `/app/installations/${id}/suspended`, { headers })).status;
  };
  expect([await suspended('PUT'), await seen()]).toEqual([204, 401]);
  await hub.clock.advance(limits.hubSweepMs);
  expect([await suspended('DELETE'), await seen()]).toEqual([204, 200]);
  await hub.root.applications.uninstall(id);
  expect(await seen()).toBe(401);
});

test('a user token of an app: where it is installed, what both may', async () => {
  await using hub = await servedHub();
  const { app } = await installed(hub, ['secret']);
  const { token } = await hub.root.applications.mint(app.client_id, 'bob', []);
  expect(token).toMatch(/^bhu_/);
  const seen = async (path: string) => (await hub.ask('GET', path, { token })).status;
  expect(await seen('/repos/acme/secret')).toBe(200);
  expect(await seen('/user')).toBe(200);
  expect((await hub.ask('GET', '/user/installations', { token })).body).toMatchObject({
    total_count: 1,
    installations: [{ account: { login: 'acme' } }],
  });
  // Not where the user has no part, nor where the app is not installed.
  const { token: carols } = await hub.root.applications.mint(app.client_id, 'carol', []);
  expect((await hub.ask('GET', '/repos/acme/secret', { token: carols })).status).toBe(404);
  const { token: alices } = await hub.root.applications.mint(app.client_id, 'alice', []);
  expect((await hub.ask('GET', '/repos/alice/secret', { token: alices })).status).toBe(404);
  await hub.clock.advance(limits.hubAppUserTokenMs);
  expect(await seen('/user')).toBe(401);
});

test("an OAuth application checks, resets and ends its users' tokens", async () => {
  await using hub = await servedHub();
  const { applications } = hub.root;
  const oauth = await applications.createOAuthApp({
    name: 'Dash',
    owner: 'acme',
    url: 'https://dash.example',
  });
  const { token } = await applications.mint(oauth.client_id, 'bob', ['repo', 'read:org']);
  const basic = (secret: string) => ({
    Authorization: `Basic ${Buffer.from(`${oauth.client_id}:${secret}`).toString('base64')}`,
  });
  const path = `/applications/${oauth.client_id}/token`;
  const ask = (method: string, accessToken: unknown, at = path, secret = oauth.client_secret) =>
    hub.ask(method, at, { headers: basic(secret), body: { access_token: accessToken } });
  expect((await hub.ask('GET', '/repos/acme/secret', { token })).headers['x-oauth-scopes']).toBe(
    'repo, read:org',
  );
  const checked = await ask('POST', token);
  expect(checked).toMatchObject({
    status: 200,
    body: {
      app: { client_id: oauth.client_id, name: 'Dash', url: 'https://dash.example' },
      token,
      hashed_token: expect.stringMatching(/^[0-9a-f]{64}$/),
      token_last_eight: token.slice(-8),
      scopes: ['repo', 'read:org'],
      user: { login: 'bob' },
      expires_at: null,
    },
  });
  expect((await ask('POST', token, path, 'wrong')).status).toBe(401);
  expect((await ask('POST', 'bho_nothing')).status).toBe(404);
  expect((await ask('POST', await hub.token('bob', 'repo'))).status).toBe(404);
  expect((await ask('POST', 5)).status).toBe(422);
  expect((await hub.ask('POST', path, { token, body: { access_token: token } })).status).toBe(401);
  const other = await applications.createOAuthApp({ name: 'Other', owner: 'bob' });
  expect((await ask('POST', token, `/applications/${other.client_id}/token`)).status).toBe(404);
  const reset = await ask('PATCH', token);
  const fresh = String(Object(reset.body).token);
  expect([reset.status, fresh === token]).toEqual([200, false]);
  expect((await hub.ask('GET', '/user', { token })).status).toBe(401);
  expect((await hub.ask('GET', '/user', { token: fresh })).status).toBe(200);
  expect((await ask('DELETE', fresh)).status).toBe(204);
  expect((await hub.ask('GET', '/user', { token: fresh })).status).toBe(401);
  const two = [
    await applications.mint(oauth.client_id, 'bob', []),
    await applications.mint(oauth.client_id, 'bob', []),
  ];
  const alices = await applications.mint(oauth.client_id, 'alice', []);
  expect((await ask('DELETE', two[0]?.token, `/applications/${oauth.client_id}/grant`)).status).toBe(204);
  for (const { token: ended } of two) {
    expect((await hub.ask('GET', '/user', { token: ended })).status).toBe(401);
  }
  expect((await hub.ask('GET', '/user', { token: alices.token })).status).toBe(200);
});

test('client id and secret fetch what all may see, with a limit of their own', async () => {
  await using hub = await servedHub();
  const { client_id: id, client_secret: secret } = await hub.root.applications.createOAuthApp({
    name: 'Dash',
    owner: 'acme',
  });
  const headers = { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
  const open = await hub.ask('GET', '/repos/acme/open', { headers });
  expect([open.status, open.headers['x-ratelimit-limit']]).toEqual([200, '5000']);
  expect((await hub.ask('GET', '/repos/acme/secret', { headers })).status).toBe(404);
  expect((await hub.ask('GET', '/user', { headers })).status).toBe(403);
  expect((await hub.ask('DELETE', '/repos/acme/open', { headers })).status).toBe(403);
  await hub.root.accounts.configureOrganization('acme', { enterprise: true });
  const raised = await hub.ask('GET', '/repos/acme/open', { headers });
  expect(raised.headers['x-ratelimit-limit']).toBe('15000');
});

test('the eleventh token of an application for a user ends the first; those of a removed one end', async () => {
  await using hub = await servedHub();
  const { applications } = hub.root;
  const { client_id: id } = await applications.createOAuthApp({ name: 'Dash', owner: 'acme' });
  const tokens: string[] = [];
  for (let count = 0; count <= limits.hubTokensOfGrantMax; count += 1) {
    tokens.push((await applications.mint(id, 'bob', [])).token);
  }
  const statuses = () =>
    Promise.all(tokens.map(async (token) => (await hub.ask('GET', '/user', { token })).status));
  expect(await statuses()).toEqual([401, ...Array.from({ length: limits.hubTokensOfGrantMax }, () => 200)]);
  await expect(hub.root.accounts.removeOrganization('acme')).rejects.toMatchObject({ code: 'conflict' });
  await applications.removeOAuthApp(id);
  expect(new Set((await statuses()).slice(0, 5))).toEqual(new Set([401]));
});

test('the built-in token of a task: one repository, what it was given, and gone with the task', async () => {
  await using hub = await servedHub();
  const { id } = hub.root.repositories.get('acme', 'secret');
  const { workflowTokens } = hub.hub;
  const token = await workflowTokens.mint(id, { packages: 'read', metadata: 'read' }, 'task1');
  expect(token).toMatch(/^bhw_/);
  const answer = await hub.ask('GET', '/repos/acme/secret', { token });
  expect([answer.status, answer.headers['x-ratelimit-limit']]).toEqual([200, '1000']);
  expect((await hub.ask('GET', '/repos/alice/secret', { token })).status).toBe(404);
  expect((await hub.ask('PATCH', '/repos/acme/secret', { token, body: {} })).status).toBe(403);
  await workflowTokens.revoke('task1');
  expect((await hub.ask('GET', '/repos/acme/secret', { token })).status).toBe(401);
  await workflowTokens.revoke('task1');
  await expect(workflowTokens.mint(99, {}, 'task2')).rejects.toMatchObject({ code: 'not_found' });
});
