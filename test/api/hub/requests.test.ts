import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import type { RateRules } from '../../../daemon/hub/limits/rules.ts';
import { peopledHub } from '../../support/hub/open-hub.ts';
import { serveHub } from '../../support/hub/serve-hub.ts';

async function served(rules: Partial<RateRules> = {}) {
  const open = await peopledHub(rules);
  const server = await serveHub(open);
  return {
    ...open,
    ...server,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      open[Symbol.dispose]();
    },
  };
}

test.each([
  [undefined, 200, '2022-11-28'],
  ['2022-11-28', 200, '2022-11-28'],
  ['2026-03-10', 200, '2026-03-10'],
  ['2025-01-01', 400, undefined],
  ['today', 400, undefined],
  ['2019-01-01', 410, undefined],
])('version %s: %s', async (version, status, selected) => {
  await using hub = await served();
  for (const name of ['X-Svc-Api-Version', 'X-GitHub-Api-Version']) {
    const headers = version === undefined ? {} : { [name]: version };
    const answer = await hub.ask('GET', '/versions', { headers });
    expect([answer.status, answer.headers['x-svc-api-version-selected']]).toEqual([status, selected]);
    if (status === 200) {
      expect(answer.body).toEqual(['2022-11-28', '2026-03-10']);
    } else {
      expect(answer.body).toMatchObject({
        message: expect.stringContaining(version ?? ''),
        status: String(status),
      });
    }
  }
});

test.each([
  ['GET', '/nowhere', {}, 404, 'Not Found'],
  ['GET', '/versions/', {}, 404, 'Not Found'],
  ['GET', '/versions', { 'User-Agent': '' }, 403, 'User-Agent'],
  ['GET', '/user', {}, 401, 'Requires authentication'],
  ['GET', '/user', { Authorization: 'Bearer wrong' }, 401, 'Bad credentials'],
  ['GET', '/users/nobody', {}, 404, 'no such user: nobody'],
  ['GET', '/repos/acme/secret', {}, 404, 'Not Found'],
  ['GET', '/repos/acme/nothing', {}, 404, 'Not Found'],
  ['GET', '/admin/users/bob/tokens', {}, 404, 'Not Found'],
])('%s %s with %j: %s', async (method, path, headers, status, message) => {
  await using hub = await served();
  const answer = await hub.ask(method, path, { headers });
  expect([answer.status, answer.body]).toEqual([
    status,
    {
      message: expect.stringContaining(message),
      documentation_url: expect.stringMatching(/^http/),
      status: String(status),
    },
  ]);
});

test.each([
  ['{', 400, { message: 'Problems parsing JSON' }],
  ['[]', 400, { message: 'Body should be a JSON object' }],
  ['"x"', 400, { message: 'Body should be a JSON object' }],
  ['['.repeat(limits.requestJsonDepthMax + 1), 400, { message: 'Problems parsing JSON' }],
  ['', 422, { errors: [{ resource: 'Repository', field: 'name', code: 'missing_field' }] }],
  [
    { name: 1, private: 'yes', has_wiki: true },
    422,
    {
      message: 'Validation Failed',
      errors: expect.arrayContaining([
        expect.objectContaining({ field: 'name', value: 1 }),
        expect.objectContaining({ field: 'private', value: 'yes' }),
        expect.objectContaining({ field: 'has_wiki' }),
      ]),
    },
  ],
  [{ name: 'open' }, 422, { errors: [{ field: 'name', code: 'already_exists', value: 'open' }] }],
])('a body %j: %s', async (body, status, expected) => {
  await using hub = await served();
  const token = await hub.token('alice', 'repo');
  const answer = await hub.ask('POST', '/user/repos', { token, body });
  expect(answer).toMatchObject({ status, body: expected });
  expect((await hub.ask('GET', '/user/repos', { token })).body).toHaveLength(4);
});

test('a body that is too large is refused, and its connection closed', async () => {
  await using hub = await served();
  const token = await hub.token('alice', 'repo');
  const body = JSON.stringify({ name: 'x'.repeat(limits.requestBodyBytesMax) });
  const answer = await hub.ask('POST', '/user/repos', { token, body });
  expect([answer.status, answer.headers.connection]).toEqual([400, 'close']);
});

test("what is made answers 201 and where it is; GitHub's words for who may what", async () => {
  await using hub = await served();
  const token = await hub.token('alice', 'repo');
  const made = await hub.ask('POST', '/orgs/acme/repos', { token, body: { name: 'new', private: true } });
  expect(made).toMatchObject({
    status: 201,
    headers: { location: 'http://hub.test:5010/repos/acme/new', 'x-oauth-scopes': 'repo' },
    body: { full_name: 'acme/new', visibility: 'private', owner: { login: 'acme', type: 'Organization' } },
  });
  const refused = await hub.ask('DELETE', '/repos/acme/new', { token });
  expect(refused).toMatchObject({ status: 403, headers: { 'x-accepted-oauth-scopes': 'delete_repo' } });
  const remover = await hub.token('alice', 'delete_repo', 'repo');
  expect((await hub.ask('DELETE', '/repos/acme/new', { token: remover })).status).toBe(204);
  expect((await hub.ask('GET', '/repos/acme/new', { token })).status).toBe(404);
});

test('lists come in pages with links, and what is no number is refused', async () => {
  await using hub = await served();
  for (let count = 0; count < 5; count += 1) {
    await hub.root.repositories.createFor('carol', { name: `r${count}` });
  }
  const page = async (query: string) => {
    const { status, headers, body } = await hub.ask('GET', `/users/carol/repos${query}`);
    const names = Array.isArray(body) ? body.map((each: { name: string }) => each.name) : body;
    const link = String(headers['link'] ?? '').replaceAll('http://hub.test:5010/users/carol/repos', '');
    return { status, names, link };
  };
  expect(await page('')).toEqual({ status: 200, names: ['r0', 'r1', 'r2', 'r3', 'r4'], link: '' });
  expect(await page('?per_page=2&page=2')).toEqual({
    status: 200,
    names: ['r2', 'r3'],
    link:
      '<?per_page=2&page=1>; rel="prev", <?per_page=2&page=3>; rel="next", ' +
      '<?per_page=2&page=3>; rel="last", <?per_page=2&page=1>; rel="first"',
  });
  expect(await page('?per_page=2&page=9')).toMatchObject({ names: [] });
  expect((await page('?per_page=1000')).names).toHaveLength(5);
  expect(await page('?page=x')).toMatchObject({ status: 422 });
});

test('an answer that the client has already is 304', async () => {
  await using hub = await served();
  const first = await hub.ask('GET', '/repos/acme/open');
  const etag = String(first.headers.etag);
  const again = await hub.ask('GET', '/repos/acme/open', { headers: { 'If-None-Match': etag } });
  expect([again.status, again.body]).toEqual([304, undefined]);
  await hub.root.repositories.edit('acme', 'open', { description: 'new' });
  const changed = await hub.ask('GET', '/repos/acme/open', { headers: { 'If-None-Match': etag } });
  expect(changed).toMatchObject({ status: 200, body: { description: 'new' } });
});

test('each answer says what of the hour is left, and beyond it there is none', async () => {
  await using hub = await served({ anonymousPerHour: 3 });
  const ask = async (path: string, headers = {}) => {
    const { status, headers: got } = await hub.ask('GET', path, { headers });
    return [status, got['x-ratelimit-used'], got['x-ratelimit-remaining'], got['x-ratelimit-resource']];
  };
  expect(await ask('/repos/acme/open')).toEqual([200, '1', '2', 'core']);
  expect(await ask('/repos/acme/secret')).toEqual([404, '2', '1', 'core']);
  const { headers } = await hub.ask('GET', '/repos/acme/open');
  expect(headers['x-ratelimit-remaining']).toBe('0');
  const refused = await hub.ask('GET', '/repos/acme/open');
  expect(refused).toMatchObject({
    status: 403,
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-limit': '3' },
    body: { message: expect.stringContaining('API rate limit exceeded for 127.0.0.1.') },
  });
  expect(refused.headers['retry-after']).toBeUndefined();
  expect(await ask('/rate_limit')).toEqual([200, '3', '0', 'core']);
  const token = await hub.token('alice', 'repo');
  expect((await hub.ask('GET', '/user', { token })).headers).toMatchObject({ 'x-ratelimit-limit': '5000' });
});

test('an answer that the client has already costs nothing', async () => {
  await using hub = await served();
  const { headers } = await hub.ask('GET', '/repos/acme/open');
  const again = await hub.ask('GET', '/repos/acme/open', {
    headers: { 'If-None-Match': String(headers.etag) },
  });
  expect([again.status, again.headers['x-ratelimit-used']]).toEqual([304, '1']);
});

test('too much at a moment is 429 with the time to wait', async () => {
  await using hub = await served({ contentPerMinute: 1 });
  const token = await hub.token('alice', 'repo');
  expect((await hub.ask('POST', '/user/repos', { token, body: { name: 'one' } })).status).toBe(201);
  expect(await hub.ask('POST', '/user/repos', { token, body: { name: 'two' } })).toMatchObject({
    status: 429,
    headers: { 'retry-after': '60' },
    body: { message: expect.stringMatching(/\bsecondary rate\b/) },
  });
});

test('GET /rate_limit: the newer version has no "rate"; without limits it is not found', async () => {
  await using hub = await served();
  const old = await hub.ask('GET', '/rate_limit');
  const core = { limit: 60, used: 0, remaining: 60, reset: expect.any(Number) };
  const minute = { limit: 300, used: 0, remaining: 300, reset: expect.any(Number) };
  const registry = { registry_pull: minute, registry_push: minute };
  expect(old.body).toEqual({ resources: { core, search: core, ...registry }, rate: core });
  const newer = await hub.ask('GET', '/rate_limit', { headers: { 'X-Svc-Api-Version': '2026-03-10' } });
  expect(newer.body).toEqual({ resources: { core, search: core, ...registry } });
  await using free = await served({ anonymousPerHour: 0 });
  expect(await free.ask('GET', '/rate_limit')).toMatchObject({
    status: 404,
    body: { message: 'Rate limiting is not enabled.' },
  });
});

test.each([
  ['GET', '/nowhere', {}, 404],
  ['PUT', '/repos/acme/open/hooks', {}, 404],
  ['GET', '/user', {}, 401],
  ['GET', '/user', { Authorization: 'Bearer wrong' }, 401],
  ['GET', '/user', { 'X-Svc-Api-Version': '2030-01-01' }, 400],
  ['GET', '/user', { 'X-Svc-Api-Version': '2010-01-01' }, 410],
  ['GET', '/user', { 'User-Agent': '' }, 403],
  ['POST', '/user/repos', { Authorization: 'Bearer wrong' }, 401],
])(
  '%s %s with %j is counted for its address, and says so beside %d',
  async (method, path, headers, status) => {
    await using hub = await served({ anonymousPerHour: 2 });
    const ask = async () => {
      const answer = await hub.ask(method, path, { headers });
      const { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining } = answer.headers;
      return [answer.status, limit, remaining];
    };
    expect(await ask()).toEqual([status, '2', '1']);
    expect(await ask()).toEqual([status, '2', '0']);
    expect(await ask()).toEqual([403, '2', '0']);
  },
);

test('a path that leads nowhere is counted for whoever asks', async () => {
  await using hub = await served();
  const token = await hub.token('alice', 'repo');
  const { status, headers } = await hub.ask('GET', '/nowhere', { token });
  expect([status, headers['x-ratelimit-limit'], headers['x-ratelimit-used']]).toEqual([404, '5000', '1']);
  expect((await hub.ask('GET', '/nowhere', { isRoot: true })).headers['x-ratelimit-limit']).toBe(undefined);
});

test('the root and /meta are answered: clients learn the scopes of a token, and an application is known', async () => {
  await using hub = await served();
  const token = await hub.token('alice', 'repo', 'read:org');
  const root = await hub.ask('GET', '/api/v3/', { token });
  expect(root).toMatchObject({
    status: 200,
    headers: { 'x-oauth-scopes': 'repo, read:org' },
    body: {
      current_user_url: 'http://hub.test:5010/user',
      rate_limit_url: 'http://hub.test:5010/rate_limit',
    },
  });
  const made = await hub.root.applications.createOAuthApp({ name: 'Dash', owner: 'alice' });
  const basic = Buffer.from(`${made.client_id}:${made.client_secret}`).toString('base64');
  expect(await hub.ask('GET', '/meta', { headers: { Authorization: `Basic ${basic}` } })).toMatchObject({
    status: 200,
    headers: { 'x-ratelimit-limit': '5000' },
    body: { verifiable_password_authentication: false, installed_version: '0.1.0' },
  });
});

test('the address that errors name is a page which lists the operations', async () => {
  await using hub = await served();
  const { body } = await hub.ask('GET', '/nowhere');
  const address = new URL(Object(body).documentation_url);
  const page = await hub.ask('GET', address.pathname);
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  for (const text of ['GET /repos/:owner/:repo/hooks', 'repository_hooks=write', 'PATCH /v2/', '507']) {
    expect(page.body).toContain(text);
  }
});

test.each([
  ['//', 404],
  ['//[', 404],
  ['///', 404],
  ['//a:99999999/', 404],
  ['//v2/', 404],
  ['/%zz', 404],
  ['/repos/acme/%zz', 404],
  ['/v2/%zz/tags/list', 404],
  ['/versions//', 404],
  ['/api/v3//', 404],
  ['*', 400],
  ['http://[', 400],
  ['http://hub.test:5010/versions', 200],
  ['http://hub.test:5010/v2/', 401],
])('a request for %s is answered %i, by a browser too, and the next one as well', async (target, status) => {
  await using hub = await served();
  expect((await hub.ask('GET', target)).status).toBe(status);
  const page = await hub.ask('GET', target, { headers: { Accept: 'text/html' } });
  expect(page.status).toBeLessThan(500);
  expect((await hub.ask('GET', '/versions')).status).toBe(200);
});
