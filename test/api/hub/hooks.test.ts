import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { manifest, pushed } from '../../support/hub/occurrences.ts';
import { peopledHub } from '../../support/hub/open-hub.ts';
import { delivered } from '../../support/hub/delivered.ts';
import { receiver } from '../../support/hub/receiver.ts';
import { serveHub, type HubAnswer, type HubAsk } from '../../support/hub/serve-hub.ts';

const HOOKS = '/repos/alice/open/hooks';

async function served() {
  const open = await peopledHub();
  const server = await serveHub(open);
  const target = await receiver();
  const token = await open.token('alice', 'repo');
  return {
    ...open,
    ...server,
    target,
    /** As alice. */
    ask: (method: string, path: string, body?: unknown, options: HubAsk = {}): Promise<HubAnswer> =>
      server.ask(method, path, { token, ...(body !== undefined && { body }), ...options }),
    /** Once so many deliveries have come, and are written down. */
    delivered: (count: number): Promise<void> => delivered(open, target, count),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
      open[Symbol.dispose]();
    },
  };
}

function config(url: string, more: object = {}) {
  return { config: { url, content_type: 'json', secret: 'a word', ...more } };
}

test('a hook is made with a ping, which is signed, delivered once and kept', async () => {
  await using hub = await served();
  const made = await hub.ask('POST', HOOKS, config(`${hub.target.url}/here?x=1`));
  const url = 'http://hub.test:5010/repos/alice/open/hooks/1';
  expect([made.status, made.headers.location, made.body]).toEqual([
    201,
    url,
    {
      type: 'Repository',
      id: 1,
      name: 'web',
      active: true,
      events: ['push'],
      config: {
        url: `${hub.target.url}/here?x=1`,
        content_type: 'json',
        insecure_ssl: '0',
        secret: '********',
      },
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
      url,
      test_url: `${url}/test`,
      ping_url: `${url}/pings`,
      deliveries_url: `${url}/deliveries`,
      last_response: { code: null, status: 'unused', message: null },
    },
  ]);
  await hub.delivered(1);
  const [got] = hub.target.received;
  const sign = (kind: string) =>
    `${kind}=${createHmac(kind, 'a word')
      .update(got?.body ?? '')
      .digest('hex')}`;
  expect(got).toMatchObject({
    method: 'POST',
    path: '/here?x=1',
    headers: {
      accept: '*/*',
      'content-type': 'application/json',
      'user-agent': 'Berth-Hookshot/0.1.0',
      'x-svc-event': 'ping',
      'x-github-event': 'ping',
      'x-svc-hook-id': '1',
      'x-svc-hook-installation-target-type': 'repository',
      'x-svc-hook-installation-target-id': '1',
      'x-hub-signature-256': sign('sha256'),
      'x-hub-signature': sign('sha1'),
    },
  });
  expect(JSON.parse(got?.body ?? '')).toMatchObject({
    hook_id: 1,
    hook: { config: { secret: '********' } },
    repository: { full_name: 'alice/open' },
    sender: { login: 'alice' },
  });
  const { body } = await hub.ask('GET', `${HOOKS}/1`);
  expect(body).toMatchObject({ last_response: { code: 200, status: 'active', message: 'OK' } });
  const guid = got?.headers['x-svc-delivery'];
  const item = {
    id: 1,
    guid,
    delivered_at: expect.stringMatching(/Z$/),
    redelivery: false,
    duration: expect.any(Number),
    status: 'OK',
    status_code: 200,
    event: 'ping',
    action: null,
    installation_id: null,
    repository_id: 1,
    throttled_at: null,
  };
  expect((await hub.ask('GET', `${HOOKS}/1/deliveries`)).body).toEqual([item]);
  expect((await hub.ask('GET', `${HOOKS}/1/deliveries/1`)).body).toEqual({
    ...item,
    url: `${hub.target.url}/here?x=1`,
    request: {
      headers: expect.objectContaining({ 'X-Svc-Delivery': guid, 'X-Hub-Signature-256': sign('sha256') }),
      payload: JSON.parse(got?.body ?? ''),
    },
    response: { headers: expect.objectContaining({ connection: 'keep-alive' }), payload: 'ok' },
  });
});

test('a redelivery has the guid and the bytes of the first, and is another delivery', async () => {
  await using hub = await served();
  await hub.ask('POST', HOOKS, config(hub.target.url, { content_type: 'form' }));
  await hub.delivered(1);
  const again = await hub.ask('POST', `${HOOKS}/1/deliveries/1/attempts`);
  expect([again.status, again.body]).toEqual([202, {}]);
  await hub.delivered(2);
  const [first, second] = hub.target.received;
  expect(second?.body).toBe(first?.body);
  expect(first?.body).toMatch(/^payload=%7B/);
  expect(second?.headers['x-svc-delivery']).toBe(first?.headers['x-svc-delivery']);
  expect(second?.headers['x-hub-signature-256']).toBe(first?.headers['x-hub-signature-256']);
  expect((await hub.ask('GET', `${HOOKS}/1/deliveries`)).body).toMatchObject([
    { id: 2, redelivery: true },
    { id: 1, redelivery: false },
  ]);
});

test.each([
  [{}, 422, { errors: [{ field: 'config.url', code: 'missing_field' }] }],
  [{ config: {} }, 422, { errors: [{ field: 'config.url', code: 'missing_field' }] }],
  [config('nothing'), 422, { errors: [{ field: 'config.url', code: 'invalid', value: 'nothing' }] }],
  [config('ftp://example.com'), 422, { errors: [{ field: 'config.url', code: 'invalid' }] }],
  [config('engine://nodes/x'), 422, { errors: [{ field: 'config.url', code: 'invalid' }] }],
  [config('https://me:word@example.com'), 422, { errors: [{ field: 'config.url', code: 'invalid' }] }],
  [
    config('http://10.0.0.1/'),
    422,
    { errors: [{ field: 'config.url', code: 'custom', message: 'URL host 10.0.0.1 is not supported' }] },
  ],
  [config('http://[::ffff:10.0.0.1]/'), 422, { errors: [{ code: 'custom' }] }],
  [config('http://169.254.169.254/'), 422, { errors: [{ code: 'custom' }] }],
  [config(`https://example.com/${'x'.repeat(3000)}`), 422, { errors: [{ code: 'invalid' }] }],
  [
    config('https://example.com', { secret: 'x'.repeat(2000) }),
    422,
    { errors: [{ field: 'config.secret' }] },
  ],
  [
    config('https://example.com', { content_type: 'xml' }),
    422,
    { errors: [{ field: 'config.content_type' }] },
  ],
  [config('https://example.com', { insecure_ssl: '2' }), 422, { errors: [{ field: 'config.insecure_ssl' }] }],
  [config('https://example.com', { token: 'x' }), 422, { errors: [{ field: 'config.token' }] }],
  [{ ...config('https://example.com'), name: 'email' }, 422, { errors: [{ field: 'name' }] }],
  [{ ...config('https://example.com'), events: [] }, 422, { errors: [{ field: 'events' }] }],
  [{ ...config('https://example.com'), events: ['pushed'] }, 422, { errors: [{ value: 'pushed' }] }],
  [{ ...config('https://example.com'), events: 'push' }, 422, { errors: [{ field: 'events' }] }],
  [{ ...config('https://example.com'), active: 'yes' }, 422, { errors: [{ field: 'active' }] }],
])('a hook %j is refused, and there is none', async (body, status, expected) => {
  await using hub = await served();
  const answer = await hub.ask('POST', HOOKS, body);
  expect(answer).toMatchObject({ status, body: { message: 'Validation Failed', ...expected } });
  expect(JSON.stringify(answer.body)).not.toContain('word@');
  expect((await hub.ask('GET', HOOKS)).body).toEqual([]);
});

test('two hooks have one configuration only where their events do not overlap', async () => {
  await using hub = await served();
  const make = async (events: string[], more = {}) =>
    (await hub.ask('POST', HOOKS, { ...config('https://example.com/', more), events })).status;
  expect(await make(['push'])).toBe(201);
  expect(await make(['create', 'push'])).toBe(422);
  expect(await make(['*'])).toBe(422);
  expect(await make(['create'])).toBe(201);
  expect(await make(['push'], { secret: 'another' })).toBe(201);
  expect(
    await hub.ask('PATCH', `${HOOKS}/2`, { ...config('https://example.com/'), add_events: ['push'] }),
  ).toMatchObject({
    status: 422,
    body: {
      errors: [
        {
          resource: 'Hook',
          field: 'config',
          code: 'custom',
          message: 'Hook already exists on this repository',
        },
      ],
    },
  });
});

test('an event has at most 20 hooks', async () => {
  await using hub = await served();
  for (let count = 0; count < 20; count += 1) {
    expect((await hub.ask('POST', HOOKS, config(`https://example.com/${count}`))).status).toBe(201);
  }
  expect(await hub.ask('POST', HOOKS, config('https://example.com/last'))).toMatchObject({
    status: 422,
    body: { errors: [{ code: 'custom', message: 'The "push" event cannot have more than 20 hooks' }] },
  });
  expect(
    (await hub.ask('POST', HOOKS, { ...config('https://example.com/last'), events: ['create'] })).status,
  ).toBe(201);
  const page = await hub.ask('GET', `${HOOKS}?per_page=10&page=2`);
  expect(page.body).toHaveLength(10);
  expect(page.headers.link).toContain('rel="last"');
});

test('PATCH: a secret that does not come with it is removed; of the config alone it stays', async () => {
  await using hub = await served();
  await hub.ask('POST', HOOKS, config('https://example.com/'));
  const secret = { secret: '********' };
  const patch = async (path: string, body: object) => (await hub.ask('PATCH', path, body)).body;
  expect(await patch(`${HOOKS}/1/config`, { content_type: 'form' })).toEqual({
    url: 'https://example.com/',
    content_type: 'form',
    insecure_ssl: '0',
    ...secret,
  });
  expect(await patch(`${HOOKS}/1`, { config: secret, events: ['create', 'delete'] })).toMatchObject({
    config: { content_type: 'form', ...secret },
    events: ['create', 'delete'],
  });
  expect(
    await patch(`${HOOKS}/1`, { active: false, add_events: ['push'], remove_events: ['create'] }),
  ).toEqual(
    expect.objectContaining({
      active: false,
      events: ['delete', 'push'],
      config: { url: 'https://example.com/', content_type: 'form', insecure_ssl: '0' },
    }),
  );
  expect(await patch(`${HOOKS}/1/config`, { insecure_ssl: 1, secret: 'new' })).toMatchObject({
    insecure_ssl: '1',
    ...secret,
  });
  expect((await hub.ask('PATCH', `${HOOKS}/1`, { remove_events: ['delete', 'push'] })).status).toBe(422);
  expect((await hub.ask('GET', `${HOOKS}/1/config`)).body).toMatchObject({ insecure_ssl: '1', ...secret });
});

test.each(['tests', 'test'])('POST /%s sends the last push to a hook that wants pushes', async (path) => {
  await using hub = await served();
  const { id } = hub.root.repositories.get('alice', 'open');
  await hub.ask('POST', HOOKS, config(hub.target.url));
  await hub.ask('POST', HOOKS, { ...config(hub.target.url), events: ['create'] });
  await hub.delivered(2);
  // Nothing was pushed yet.
  expect((await hub.ask('POST', `${HOOKS}/1/${path}`)).status).toBe(204);
  const repository = { id, owner: { kind: 'user', name: 'alice', id: 1 }, name: 'open' } as const;
  const push = pushed(null, manifest('a'), { ...pushed().repository, ...repository });
  await hub.records.update([{ kind: 'put', key: `last-push/${id}`, value: push }]);
  expect((await hub.ask('POST', `${HOOKS}/2/${path}`)).status).toBe(204);
  expect((await hub.ask('POST', `${HOOKS}/1/${path}`)).status).toBe(204);
  await hub.delivered(3);
  const got = hub.target.received[2];
  expect([got?.headers['x-svc-event'], JSON.parse(got?.body ?? '')]).toEqual([
    'push',
    expect.objectContaining({ ref: 'refs/tags/v1', after: manifest('a').digest }),
  ]);
  expect((await hub.ask('POST', `${HOOKS}/1/pings`)).status).toBe(204);
  await hub.delivered(4);
});

test('deliveries come in pages with cursors, newest first, and by how they ended', async () => {
  await using hub = await served();
  await hub.ask('POST', HOOKS, config(hub.target.url));
  await hub.delivered(1);
  for (let count = 2; count <= 5; count += 1) {
    hub.target.answer = (res) =>
      res.writeHead(count % 2 === 0 ? 500 : 302, { location: 'http://10.0.0.1/' }).end();
    await hub.ask('POST', `${HOOKS}/1/pings`);
    await hub.delivered(count);
  }
  const page = async (query: string) => {
    const { status, headers, body } = await hub.ask('GET', `${HOOKS}/1/deliveries${query}`);
    const ids = Array.isArray(body) ? body.map((each: { id: number }) => each.id) : body;
    return [
      status,
      ids,
      String(headers.link ?? '').replaceAll(`http://hub.test:5010${HOOKS}/1/deliveries`, ''),
    ];
  };
  expect(await page('')).toEqual([200, [5, 4, 3, 2, 1], '']);
  expect(await page('?per_page=2')).toEqual([200, [5, 4], '<?per_page=2&cursor=v1_3>; rel="next"']);
  expect(await page('?per_page=2&cursor=v1_3')).toEqual([
    200,
    [3, 2],
    '<?per_page=2&cursor=v1_5>; rel="prev", <?per_page=2&cursor=v1_1>; rel="next"',
  ]);
  const toPrev = '<?per_page=2&cursor=v1_3>; rel="prev"';
  expect(await page('?per_page=2&cursor=v1_1')).toEqual([200, [1], toPrev]);
  // What has come since is before it: the page of the two that are nearest.
  const toFirst = '<?cursor=v1_4&status=failure&per_page=1>; rel="prev"';
  expect(await page('?cursor=v1_2&status=failure&per_page=1')).toEqual([200, [2], toFirst]);
  expect(await page('?status=failure')).toMatchObject([200, [4, 2], '']);
  expect(await page('?status=success')).toMatchObject([200, [5, 3, 1], '']);
  expect(await page('?status=other')).toMatchObject([422, { errors: [{ field: 'status' }] }, '']);
  expect(await page('?cursor=5')).toMatchObject([400, { message: expect.stringContaining('cursor') }, '']);
  expect(await page('/x')).toMatchObject([400, { message: expect.stringContaining('delivery_id') }, '']);
  expect(await page('/77')).toMatchObject([404, { message: 'Not Found' }, '']);
  expect((await hub.ask('POST', `${HOOKS}/1/deliveries/77/attempts`)).status).toBe(404);
});

test('what is answered says what tokens need, and comes with an ETag', async () => {
  await using hub = await served();
  const first = await hub.ask('GET', HOOKS);
  expect(first.headers).toMatchObject({
    'x-oauth-scopes': 'repo',
    'x-accepted-oauth-scopes': 'admin:repo_hook, read:repo_hook, repo, write:repo_hook',
    'x-accepted-github-permissions': 'repository_hooks=read',
  });
  const headers = { 'If-None-Match': String(first.headers.etag) };
  expect((await hub.ask('GET', HOOKS, undefined, { headers })).status).toBe(304);
});

test('a hook that goes is told with meta; with its repository it goes after a last event', async () => {
  await using hub = await served();
  await hub.ask('POST', HOOKS, { ...config(hub.target.url), events: ['repository'] });
  await hub.ask('POST', HOOKS, { ...config(`${hub.target.url}/2`), events: ['push'] });
  await hub.delivered(2);
  expect((await hub.ask('DELETE', `${HOOKS}/2`)).status).toBe(204);
  expect((await hub.ask('DELETE', `${HOOKS}/2`)).status).toBe(404);
  await hub.delivered(3);
  await hub.root.repositories.edit('alice', 'open', { private: true });
  await hub.root.repositories.remove('alice', 'open');
  await hub.delivered(5);
  expect(
    hub.target.received.map(({ headers, body }) => [
      headers['x-svc-event'],
      (JSON.parse(body) as { action?: string }).action,
    ]),
  ).toEqual([
    ['ping', undefined],
    ['ping', undefined],
    ['meta', 'deleted'],
    ['repository', 'privatized'],
    ['repository', 'deleted'],
  ]);
  expect((await hub.records.list('intent/')).records).toEqual([]);
  expect((await hub.records.list('hook/')).records).toEqual([]);
});

test('a hook that is switched off gets no events, and pings still', async () => {
  await using hub = await served();
  await hub.ask('POST', HOOKS, { ...config(hub.target.url), events: ['*'], active: false });
  await hub.delivered(1);
  await hub.root.repositories.edit('alice', 'open', { description: 'new' });
  await hub.ask('POST', `${HOOKS}/1/pings`);
  await hub.delivered(2);
  expect(hub.target.received.map(({ headers }) => headers['x-svc-event'])).toEqual(['ping', 'ping']);
});

test.each(['0', 'x', '01', '1e3', '99'])('hook %s is not found', async (id) => {
  await using hub = await served();
  expect((await hub.ask('GET', `${HOOKS}/${id}`)).status).toBe(404);
});
