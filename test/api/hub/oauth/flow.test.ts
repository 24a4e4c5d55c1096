import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { TokenRecord } from '../../../../api/types/hub/oauth.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { oauthHub, pairOf, REDIRECT, SEEDS_ACCESSES } from '../../../support/hub/oauth-hub.ts';

const DAY_NANO = 86_400_000_000_000n;

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const ID = expect.stringMatching(/^[a-z0-9]{12}$/);

const whoIs = (pair: string) => ({ headers: { Authorization: pair } });

test('an application has what the seed gives it, and its secret once', async () => {
  await using hub = await oauthHub({ scopes: { branch: ['write_tag'], user: ['read_user'] } });
  const { application, path, authorization } = hub;
  expect(application).toMatchObject({
    id: ID,
    name: 'CI',
    domain: 'http://ci.test',
    redirect_uri: REDIRECT,
    scopes: 'user:read_user branch:write_branch',
    client_id: expect.stringMatching(/^Oc[a-z0-9]{12}\.[0-9a-f]{16}$/),
    client_secret: expect.stringMatching(/^bhc_/),
    avatar: '',
    tokens: 0,
    created_at: TIME,
  });
  const { client_secret: secret, ...shown } = application;
  expect(secret).not.toBe('');
  expect(await hub.ask('GET', path, whoIs(authorization))).toMatchObject({ status: 200, body: shown });
  const list = await hub.ask('GET', path.replace(/\/[^/]+$/, ''), whoIs(authorization));
  expect(list.body).toEqual({
    type: 'list',
    current_page: 1,
    per_page: 25,
    next_page: null,
    next_page_url: null,
    prev_page: null,
    prev_page_url: null,
    total_count: 1,
    total_pages: 1,
    data: [shown],
  });
});

test('the flow of the seed: authorize, exchange, use, refresh', async () => {
  await using hub = await oauthHub();
  const { redirect_to: to } = await hub.root.oauth.consent.decideFor({
    login: 'alice',
    client_id: hub.client.client_id,
    redirect_uri: REDIRECT,
    state: 'a b&c',
  });
  const back = new URL(to).searchParams;
  expect([to.split('?')[0], back.get('state'), back.get('iss')]).toEqual([
    REDIRECT,
    'a b&c',
    'http://hub.test:5010',
  ]);
  const code = back.get('code') ?? '';
  const first = await hub.exchange({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT });
  expect([first.status, first.headers['cache-control']]).toEqual([200, 'no-store']);
  // The hub's own answer.
  const record = first.body as TokenRecord;
  expect(record).toMatchObject({
    id: ID,
    type: 'OauthToken',
    name: 'CI',
    display_name: 'CI',
    avatar_url: '',
    created_at: TIME,
    updated_at: TIME,
    expires_at: TIME,
    last_used_at: null,
    token: expect.stringMatching(/^bhg_/),
    plain_text_refresh_token: expect.stringMatching(/^bhr_/),
    actor_id: '1',
    actor_display_name: 'alice',
    actor_type: 'User',
  });
  expect(record.service_token_accesses).toContainEqual({
    id: 'organization-4-write_branches',
    access: 'write_branches',
    description: 'pull and push images: move tags',
    resource_name: 'acme',
    resource_id: '4',
    resource_type: 'Organization',
    resource: { id: '4', name: 'acme', created_at: TIME, updated_at: TIME, deleted_at: null },
  });
  expect(record.oauth_accesses_by_resource).toMatchObject({
    user: { users: [{ id: '1', name: 'alice' }], accesses: [{ name: 'read_user' }] },
    organization: { organizations: [{ name: 'alice' }, { name: 'acme', url: 'http://hub.test:5010/acme' }] },
    database: { databases: [], accesses: [] },
    branch: { branches: [], accesses: [] },
  });
  for (const header of [pairOf(record), `Bearer ${record.token ?? ''}`, `token ${record.token ?? ''}`]) {
    expect((await hub.ask('GET', '/user', whoIs(header))).body).toMatchObject({ login: 'alice' });
  }
  expect((await hub.ask('GET', '/user', whoIs(`other:${record.token ?? ''}`))).status).toBe(401);
  const refresh = { grant_type: 'refresh_token', refresh_token: record.plain_text_refresh_token ?? '' };
  const second = await hub.exchange(refresh);
  const renewed = second.body as TokenRecord;
  expect(renewed).toMatchObject({ id: ID, service_token_accesses: record.service_token_accesses });
  expect(renewed.id).not.toBe(record.id);
  expect((await hub.ask('GET', '/user', whoIs(pairOf(record)))).status).toBe(401);
  expect((await hub.ask('GET', '/user', whoIs(pairOf(renewed)))).status).toBe(200);
});

test('replay: a code that is used again ends what came of it', async () => {
  await using hub = await oauthHub();
  const code = await hub.codeFor('alice');
  const parameters = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT };
  const answers = await Promise.all([hub.exchange(parameters), hub.exchange(parameters)]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 422]);
  expect(answers.find(({ status }) => status === 422)?.body).toMatchObject({
    code: 'unprocessable',
    error: 'invalid_grant',
  });
  const record = answers.find(({ status }) => status === 200)?.body as TokenRecord;
  expect((await hub.ask('GET', '/user', whoIs(pairOf(record)))).status).toBe(401);
  const refresh = { grant_type: 'refresh_token', refresh_token: record.plain_text_refresh_token ?? '' };
  expect((await hub.exchange(refresh)).status).toBe(422);
});

test('replay: a refresh token that is used again ends all that came of the authorization', async () => {
  await using hub = await oauthHub();
  const first = await hub.tokenFor('alice');
  const refresh = (token: TokenRecord) =>
    hub.exchange({ grant_type: 'refresh_token', refresh_token: token.plain_text_refresh_token ?? '' });
  const second = (await refresh(first)).body as TokenRecord;
  const third = (await refresh(second)).body as TokenRecord;
  expect((await refresh(first)).body).toMatchObject({ error: 'invalid_grant' });
  expect((await hub.ask('GET', '/user', whoIs(pairOf(third)))).status).toBe(401);
  expect((await refresh(third)).status).toBe(422);
});

/** A hub with a token of alice's, and what refreshes it. */
async function refreshing() {
  const hub = await oauthHub();
  const first = await hub.tokenFor('alice');
  const refresh = async (token: TokenRecord) => {
    const shown = token.plain_text_refresh_token ?? '';
    const { status, body } = await hub.exchange({ grant_type: 'refresh_token', refresh_token: shown });
    // The hub's own answer.
    return { status, record: body as TokenRecord };
  };
  const use = async (token: TokenRecord) => (await hub.ask('GET', '/user', whoIs(pairOf(token)))).status;
  return { ...hub, first, refresh, use };
}

test('replay: two refreshes at once with one token are one, of which the last answer counts', async () => {
  await using hub = await refreshing();
  const both = await Promise.all([hub.refresh(hub.first), hub.refresh(hub.first)]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  const used = await Promise.all(both.map(({ record }) => hub.use(record)));
  expect(used.toSorted((one, other) => one - other)).toEqual([200, 401]);
  const good = both[used.indexOf(200)]?.record ?? hub.first;
  const next = await hub.refresh(good);
  expect([next.status, await hub.use(next.record)]).toEqual([200, 200]);
});

test('replay: a third attempt with a refresh token ends the family', async () => {
  await using hub = await refreshing();
  await hub.refresh(hub.first);
  const { record } = await hub.refresh(hub.first);
  expect((await hub.refresh(hub.first)).status).toBe(422);
  expect([await hub.use(record), (await hub.refresh(record)).status]).toEqual([401, 422]);
});

test('replay: what the first of two attempts gave ends the family when it is shown after the second', async () => {
  await using hub = await refreshing();
  const stolen = await hub.refresh(hub.first);
  const { record } = await hub.refresh(hub.first);
  expect((await hub.refresh(stolen.record)).status).toBe(422);
  expect([await hub.use(record), (await hub.refresh(record)).status]).toEqual([401, 422]);
});

test('replay: a second attempt that comes later than at once ends the family', async () => {
  await using hub = await refreshing();
  const { record } = await hub.refresh(hub.first);
  hub.clock.setWall(10_001);
  expect((await hub.refresh(hub.first)).status).toBe(422);
  expect([await hub.use(record), (await hub.refresh(record)).status]).toEqual([401, 422]);
});

test('another client secret: the one before is good no more, tokens stay, and few may ask for it', async () => {
  await using hub = await refreshing();
  const path = `${hub.path}/secret`;
  const { applications } = hub.root.oauth;
  const may = await applications.createServiceToken('acme', { accesses: ['write_oauth_applications'] });
  expect((await hub.ask('POST', path, whoIs(hub.authorization))).status).toBe(403);
  expect((await hub.ask('POST', path)).status).toBe(401);
  const renewed = await hub.ask('POST', path, whoIs(pairOf(may)));
  expect(renewed).toMatchObject({
    status: 201,
    headers: { 'cache-control': 'no-store' },
    body: { id: hub.application.id, client_id: hub.client.client_id },
  });
  const { client_secret: secret } = renewed.body as Record<string, string>;
  expect(secret).toMatch(/^bhc_/);
  expect(secret).not.toBe(hub.client.client_secret);
  expect([await hub.use(hub.first), (await hub.refresh(hub.first)).status]).toEqual([200, 401]);
  const again = await hub.exchange({
    grant_type: 'refresh_token',
    refresh_token: hub.first.plain_text_refresh_token ?? '',
    client_secret: secret ?? '',
  });
  expect(again.status).toBe(200);
  expect((await hub.ask('POST', `${hub.path}x/secret`, whoIs(pairOf(may)))).status).toBe(404);
});

test('codes, tokens and refresh tokens end with their time', async () => {
  const clock = new ManualClock(BigInt(Date.now()) * 1_000_000n);
  await using hub = await oauthHub({}, clock);
  const code = await hub.codeFor('alice');
  clock.setWall(600_001);
  const late = await hub.exchange({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT });
  expect(late.body).toMatchObject({ error: 'invalid_grant', message: expect.stringContaining('too old') });
  const record = await hub.tokenFor('alice');
  clock.setWall(Number((30n * DAY_NANO) / 1_000_000n));
  expect((await hub.ask('GET', '/user', whoIs(pairOf(record)))).status).toBe(401);
  const refresh = { grant_type: 'refresh_token', refresh_token: record.plain_text_refresh_token ?? '' };
  const renewed = (await hub.exchange(refresh)).body as TokenRecord;
  expect((await hub.ask('GET', '/user', whoIs(pairOf(renewed)))).status).toBe(200);
  clock.setWall(Number((180n * DAY_NANO) / 1_000_000n));
  const last = { grant_type: 'refresh_token', refresh_token: renewed.plain_text_refresh_token ?? '' };
  expect((await hub.exchange(last)).body).toMatchObject({ message: 'the refresh token is too old' });
});

test('parameters in the query, in a form and in JSON', async () => {
  await using hub = await oauthHub();
  const send = async (type: string, encode: (all: Record<string, string>) => string) => {
    const code = await hub.codeFor('alice');
    const all = { ...hub.client, grant_type: 'authorization_code', code, redirect_uri: REDIRECT };
    const headers = { Authorization: hub.authorization, 'Content-Type': type };
    return (await hub.ask('POST', `${hub.path}/token`, { headers, body: encode(all) })).status;
  };
  expect(await send('application/json', JSON.stringify)).toBe(200);
  expect(await send('application/x-www-form-urlencoded', (all) => new URLSearchParams(all).toString())).toBe(
    200,
  );
  expect(await send('text/plain', JSON.stringify)).toBe(400);
});

test.each([
  ['no service token', {}, { Authorization: '' }, 401, 'unauthorized'],
  ['a wrong one', {}, { Authorization: 'abcdefghijkl:bhk_wrong' }, 401, 'unauthorized'],
  ['a wrong secret', { client_secret: 'no' }, {}, 401, 'unauthorized'],
  ['no grant_type', {}, {}, 422, 'invalid_params'],
  ['another grant', { grant_type: 'password' }, {}, 422, 'unprocessable'],
  ['no code', { grant_type: 'authorization_code' }, {}, 422, 'invalid_params'],
  ['a wrong code', { grant_type: 'authorization_code', code: 'x.aaaaaaaaaaaa' }, {}, 422, 'unprocessable'],
])('exchange with %s is refused', async (_case, parameters, headers, status, code) => {
  await using hub = await oauthHub();
  const query = new URLSearchParams({ ...hub.client, ...parameters }).toString();
  const sent = { Authorization: hub.authorization, ...headers };
  const answer = await hub.ask('POST', `${hub.path}/token?${query}`, { headers: sent });
  expect([answer.status, answer.body]).toMatchObject([status, { code, message: expect.any(String) }]);
});

test("the seed's accesses are needed one by one, and only of one's own organization", async () => {
  await using hub = await oauthHub();
  await hub.root.accounts.createOrganization({ login: 'other', admin: 'carol' });
  const { applications } = hub.root.oauth;
  const tokens = `${hub.path}/tokens`;
  const asked = async (organization: string, access: string) => {
    const made = await applications.createServiceToken(organization, { accesses: [access] });
    const headers = { Authorization: pairOf(made) };
    const post = await hub.ask('POST', `${hub.path}/token?grant_type=x`, { headers });
    const paths = [hub.path, tokens];
    const gets = await Promise.all(paths.map((path) => hub.ask('GET', path, { headers })));
    return [...gets.map(({ status }) => status), post.status];
  };
  // 401: the client's secret is missing.
  expect(await Promise.all(SEEDS_ACCESSES.map((access) => asked('acme', access)))).toEqual([
    [200, 403, 403],
    [403, 403, 401],
    [403, 200, 403],
  ]);
  expect(await asked('other', 'read_oauth_applications')).toEqual([404, 404, 404]);
});

test('a code of one application is nothing to another, and the redirect has to be the one of the request', async () => {
  await using hub = await oauthHub();
  const other = await hub.root.oauth.applications.create('acme', {
    name: 'Other',
    domain: 'http://other.test',
    redirect_uri: 'http://other.test/back',
  });
  const code = await hub.codeFor('alice');
  const parameters = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT };
  const stolen = await hub.ask('POST', '/oauth/token', {
    headers: { 'Content-Type': 'application/json' },
    body: { ...parameters, client_id: other.client_id, client_secret: other.client_secret },
  });
  expect(stolen).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  for (const redirect of [`${REDIRECT}/`, 'http://other.test/back', undefined]) {
    const { redirect_uri: _right, ...rest } = parameters;
    const answer = await hub.exchange({ ...rest, ...(redirect !== undefined && { redirect_uri: redirect }) });
    expect(answer.body).toMatchObject({ error: 'invalid_grant' });
  }
  // None of them has used it up.
  expect((await hub.exchange(parameters)).status).toBe(200);
  expect((await hub.exchange({ ...parameters, client_id: other.client_id })).status).toBe(401);
});

test('the standard endpoints: exchange with PKCE, refresh, revoke, metadata', async () => {
  await using hub = await oauthHub();
  const verifier = 'v'.repeat(50);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const code = await hub.codeFor('alice', { code_challenge: challenge, code_challenge_method: 'S256' });
  const basic = `Basic ${Buffer.from(`${hub.client.client_id}:${hub.client.client_secret}`).toString('base64')}`;
  const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    hub.ask('POST', path, {
      headers: { Authorization: basic, 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const fields = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT };
  expect((await post('/oauth/token', fields)).body).toMatchObject({ error: 'invalid_grant' });
  const wrong = await post('/oauth/token', { ...fields, code_verifier: 'w'.repeat(50) });
  expect(wrong.body).toMatchObject({ error: 'invalid_grant' });
  const given = await post('/oauth/token', { ...fields, code_verifier: verifier });
  expect(given).toMatchObject({
    status: 200,
    headers: { 'cache-control': 'no-store', pragma: 'no-cache' },
    body: {
      token_type: 'Bearer',
      expires_in: 2_592_000,
      scope:
        'user:read_user organization:read_organization organization:read_databases ' +
        'organization:read_branches organization:write_branches',
    },
  });
  const { access_token: token, refresh_token: refresh } = given.body as Record<string, string>;
  expect((await hub.ask('GET', '/user', { token: token ?? '' })).status).toBe(200);
  const narrow = await post('/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: refresh ?? '',
    scope: 'read_organization',
  });
  expect(narrow.body).toMatchObject({ scope: 'organization:read_organization' });
  const narrowed = narrow.body as Record<string, string>;
  expect((await hub.ask('GET', '/user', { token: narrowed['access_token'] ?? '' })).status).toBe(403);
  expect(await post('/oauth/revoke', { token: narrowed['access_token'] ?? '' })).toMatchObject({
    status: 200,
    body: {},
  });
  expect((await hub.ask('GET', '/user', { token: narrowed['access_token'] ?? '' })).status).toBe(401);
  expect((await post('/oauth/revoke', { token: 'nothing' })).status).toBe(200);
  const again = { grant_type: 'refresh_token', refresh_token: narrowed['refresh_token'] ?? '' };
  const last = (await post('/oauth/token', again)).body as Record<string, string>;
  await post('/oauth/revoke', { token: last['refresh_token'] ?? '' });
  expect((await hub.ask('GET', '/user', { token: last['access_token'] ?? '' })).status).toBe(401);
  const metadata = await hub.ask('GET', '/.well-known/oauth-authorization-server');
  expect(metadata.body).toMatchObject({
    issuer: 'http://hub.test:5010',
    authorization_endpoint: 'http://hub.test:5010/oauth/authorize',
    code_challenge_methods_supported: ['S256'],
  });
  const unknown = await post('/oauth/token', fields, { Authorization: 'Basic eDp5' });
  expect(unknown).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  expect(unknown.headers['www-authenticate']).toMatch(/^Basic /);
  expect((await post(`/oauth/token?code=${code}`, fields)).body).toMatchObject({ error: 'invalid_request' });
  expect((await post('/oauth/token', { grant_type: 'password' })).body).toMatchObject({
    error: 'unsupported_grant_type',
  });
});

test('guessing client secrets is stopped, for right ones too', async () => {
  await using hub = await oauthHub();
  const guess = (secret: string) =>
    hub.ask('POST', '/oauth/token', {
      headers: { 'Content-Type': 'application/json' },
      body: { grant_type: 'x', client_id: hub.client.client_id, client_secret: secret },
    });
  for (let count = 0; count < 10; count += 1) {
    expect((await guess('wrong')).status).toBe(401);
  }
  expect((await guess(hub.client.client_secret)).status).toBe(403);
});

test('tokens of an application: listed without secrets, ended with their refresh tokens', async () => {
  await using hub = await oauthHub();
  const record = await hub.tokenFor('alice');
  const tokens = hub.root.oauth.applications.tokens('acme', hub.application.id);
  const { token: _secret, plain_text_refresh_token: refresh = '', ...shown } = record;
  expect(tokens).toEqual([shown]);
  const remover = await hub.root.oauth.applications.createServiceToken('acme', {
    accesses: ['delete_oauth_tokens'],
  });
  const path = `${hub.path}/tokens/${record.id}`;
  expect((await hub.ask('DELETE', path, whoIs(hub.authorization))).status).toBe(403);
  expect((await hub.ask('DELETE', path, whoIs(pairOf(remover)))).status).toBe(204);
  expect((await hub.ask('GET', '/user', whoIs(pairOf(record)))).status).toBe(401);
  expect((await hub.exchange({ grant_type: 'refresh_token', refresh_token: refresh })).status).toBe(422);
});

test('who goes takes the tokens along: the user, the application', async () => {
  await using hub = await oauthHub();
  const record = await hub.tokenFor('bob');
  await hub.root.accounts.removeMembership('acme', 'bob');
  await hub.root.accounts.removeUser('bob');
  expect((await hub.ask('GET', '/user', whoIs(pairOf(record)))).status).toBe(401);
  const alices = await hub.tokenFor('alice');
  await hub.root.oauth.applications.remove('acme', hub.application.id);
  expect((await hub.ask('GET', '/user', whoIs(pairOf(alices)))).status).toBe(401);
});

test('a service token makes none that may more, and is ended', async () => {
  await using hub = await oauthHub();
  const { applications } = hub.root.oauth;
  const maker = await applications.createServiceToken('acme', {
    accesses: ['write_service_tokens', 'read_service_tokens', 'delete_service_tokens'],
    name: 'maker',
  });
  const path = '/v1/organizations/acme/service-tokens';
  const make = (accesses: string[]) =>
    hub.ask('POST', path, { headers: { Authorization: pairOf(maker) }, body: { accesses } });
  expect((await make(['write_branches'])).status).toBe(403);
  expect((await make(['nothing'])).status).toBe(403);
  const made = await make(['read_service_tokens']);
  expect(made).toMatchObject({
    status: 201,
    body: { type: 'ServiceToken', expires_at: null, actor_id: null },
  });
  const child = made.body as TokenRecord;
  const headers = { Authorization: pairOf(child) };
  expect((await hub.ask('GET', `${path}?per_page=1&page=2`, { headers })).body).toMatchObject({
    current_page: 2,
    total_count: 3,
    next_page: 3,
    data: [{ name: 'maker' }],
  });
  expect((await hub.ask('DELETE', `${path}/${child.id}`, whoIs(pairOf(maker)))).status).toBe(204);
  expect((await hub.ask('GET', path, { headers })).status).toBe(401);
  const wrong = applications.createServiceToken('acme', { accesses: ['root'] });
  await expect(wrong).rejects.toThrow('accesses: must be of');
});

test.each([
  ['carol', ['admin:org'], 404],
  ['bob', ['admin:org'], 403],
  ['alice', ['repo'], 403],
  ['alice', ['admin:org'], 200],
])('%s with a classic token with %j asks for applications: %s', async (user, scopes, status) => {
  await using hub = await oauthHub();
  const token = await hub.token(user, ...scopes);
  expect((await hub.ask('GET', hub.path, { token })).status).toBe(status);
});

test('an avatar is served as what it is', async () => {
  const bytes = Buffer.concat([Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'), Buffer.alloc(10)]);
  await using hub = await oauthHub({ avatar: bytes.toString('base64') });
  expect(hub.application.avatar).toBe(
    `http://hub.test:5010/avatars/oauth-applications/${hub.application.id}`,
  );
  const { status, headers } = await hub.ask('GET', new URL(hub.application.avatar).pathname);
  expect([status, headers['content-type'], headers['x-content-type-options']]).toEqual([
    200,
    'image/png',
    'nosniff',
  ]);
  expect((await hub.ask('GET', '/avatars/oauth-applications/aaaaaaaaaaaa')).status).toBe(404);
});
