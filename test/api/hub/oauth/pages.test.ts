import { expect, test } from 'vitest';
import { oauthHub, REDIRECT } from '../../../support/hub/oauth-hub.ts';
import { pageVisitor, type PageVisitor } from '../../../support/hub/page-visitor.ts';

const PASSWORD = 'correct horse';

async function visited(request: Parameters<typeof oauthHub>[0] = {}) {
  const hub = await oauthHub(request);
  await hub.root.accounts.setPassword('alice', PASSWORD);
  const query = (more: Record<string, string> = {}) =>
    new URLSearchParams({
      client_id: hub.client.client_id,
      redirect_uri: REDIRECT,
      state: 's 1',
      ...more,
    }).toString();
  return { ...hub, query, visitor: pageVisitor(hub) };
}

async function signIn(visitor: PageVisitor): Promise<void> {
  await visitor.get('/login');
  await visitor.post('/login', { name: 'alice', password: PASSWORD });
}

/** The hidden fields of the form, as a browser sends them. */
function fieldsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll('&amp;', '&'),
    ]),
  );
}

test('who is not signed in signs in first, and is asked then', async () => {
  await using hub = await visited();
  const { visitor } = hub;
  const path = `/oauth/authorize?${hub.query()}`;
  const first = await visitor.get(path);
  expect([first.status, first.headers.location]).toEqual([
    303,
    `/login?return_to=${encodeURIComponent(path)}`,
  ]);
  await visitor.get(first.headers.location ?? '');
  const signed = await visitor.post('/login', { name: 'alice', password: PASSWORD, return_to: path });
  expect(signed.headers.location).toBe(path);
  const asked = await visitor.get(path, { 'Sec-Fetch-Site': 'cross-site' });
  expect(asked.status).toBe(200);
  for (const part of ['CI', 'acme', 'ci.test', 'write_branches', 'move tags', 'read_user']) {
    expect(asked.text).toContain(part);
  }
});

test('allowed: back with a code, the state unchanged, and who answers', async () => {
  await using hub = await visited();
  const { visitor } = hub;
  await signIn(visitor);
  const asked = await visitor.get(`/oauth/authorize?${hub.query({ state: '"><&\' x' })}`);
  const fields = fieldsOf(
    asked.text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('"">', '">'),
  );
  expect(fields).toMatchObject({ client_id: hub.client.client_id, redirect_uri: REDIRECT });
  const allowed = await visitor.post('/oauth/authorize', {
    client_id: hub.client.client_id,
    redirect_uri: REDIRECT,
    state: '"><&\' x',
    organization: 'acme',
    decision: 'allow',
  });
  expect(allowed.status).toBe(303);
  const to = new URL(allowed.headers.location ?? '');
  expect([to.origin + to.pathname, to.searchParams.get('state'), to.searchParams.get('iss')]).toEqual([
    REDIRECT,
    '"><&\' x',
    'http://hub.test:5010',
  ]);
  const code = to.searchParams.get('code') ?? '';
  const record = await hub.exchange({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT });
  expect(record.status).toBe(200);
  const page = await visitor.get('/settings/applications');
  expect(page.text).toContain('acme: see the members');
  const id = /applications\/([a-z0-9]{12})\/revoke/.exec(page.text)?.[1] ?? '';
  expect((await visitor.post(`/settings/applications/${id}/revoke`, {})).status).toBe(303);
  expect(hub.root.oauth.applications.tokens('acme', hub.application.id)).toEqual([]);
});

test('denied: access_denied, with the state', async () => {
  await using hub = await visited();
  await signIn(hub.visitor);
  const { text } = await hub.visitor.get(`/oauth/authorize?${hub.query()}`);
  const denied = await hub.visitor.post('/oauth/authorize', { ...fieldsOf(text), decision: 'deny' });
  const to = new URL(denied.headers.location ?? '');
  expect(Object.fromEntries(to.searchParams)).toMatchObject({ error: 'access_denied', state: 's 1' });
  expect(to.searchParams.has('code')).toBe(false);
});

test.each([
  ['client_id=unknown', 'unknown'],
  ['client_id=$ID&redirect_uri=http://evil.test/', 'not the one'],
  ['client_id=$ID&redirect_uri=http://ci.test/back/..', 'not the one'],
  ['redirect_uri=http://ci.test/back', 'missing'],
])('open redirects: %s is an error page that leads nowhere', async (query, message) => {
  await using hub = await visited();
  await signIn(hub.visitor);
  const path = `/oauth/authorize?${query.replace('$ID', hub.client.client_id)}`;
  const { status, headers, text } = await hub.visitor.get(path);
  expect([status, headers.location]).toEqual([400, undefined]);
  expect(text).toContain(message);
  const posted = await hub.visitor.post('/oauth/authorize', {
    ...Object.fromEntries(new URLSearchParams(query.replace('$ID', hub.client.client_id))),
    decision: 'allow',
    organization: 'acme',
  });
  expect([posted.status, posted.headers.location]).toEqual([400, undefined]);
});

test.each([
  ['response_type', 'token', 'unsupported_response_type'],
  ['code_challenge', 'x', 'invalid_request'],
  ['scope', 'delete_branches', 'invalid_scope'],
])('what is wrong with %s=%s is told to the application: %s', async (name, value, error) => {
  await using hub = await visited();
  const { status, headers } = await hub.visitor.get(`/oauth/authorize?${hub.query({ [name]: value })}`);
  const { searchParams } = new URL(headers.location ?? '');
  expect([status, searchParams.get('error'), searchParams.get('state'), searchParams.get('iss')]).toEqual([
    303,
    error,
    's 1',
    'http://hub.test:5010',
  ]);
});

test('click-jacking: the page of consent stands in no frame, and its form leads to known places', async () => {
  await using hub = await visited();
  await signIn(hub.visitor);
  const { headers } = await hub.visitor.get(`/oauth/authorize?${hub.query()}`);
  expect(headers['x-frame-options']).toBe('DENY');
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' http://ci.test; base-uri 'none'; " +
      "frame-ancestors 'none'",
  );
  expect(headers['cache-control']).toBe('no-store');
});

test('cross-site requests: consent that another site sends, or without the mark, is refused', async () => {
  await using hub = await visited();
  const { visitor } = hub;
  await signIn(visitor);
  const { text } = await visitor.get(`/oauth/authorize?${hub.query()}`);
  const fields = { ...fieldsOf(text), organization: 'acme', decision: 'allow' };
  const refused = [
    await visitor.post('/oauth/authorize', { ...fields, mark: 'x' }),
    await visitor.post('/oauth/authorize', fields, { Origin: 'http://evil.test' }),
    await visitor.post('/oauth/authorize', fields, { Origin: '', 'Sec-Fetch-Site': 'cross-site' }),
    await visitor.post('/oauth/authorize', fields, { 'Content-Type': 'application/json' }),
  ];
  expect(refused.map(({ status, headers }) => [status, headers.location])).toEqual([
    [403, undefined],
    [403, undefined],
    [403, undefined],
    [400, undefined],
  ]);
  const { token } = await hub.root.tokens.create('alice', { scopes: ['repo'] });
  const byToken = await hub.ask('POST', '/oauth/authorize', {
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Authorization: `token ${token}` },
    body: new URLSearchParams(fields).toString(),
  });
  expect(byToken.status).toBe(403);
});

test('nothing chosen: asked again, and told why', async () => {
  await using hub = await visited({ scopes: { branch: ['write_branch'] } });
  await signIn(hub.visitor);
  const { text } = await hub.visitor.get(`/oauth/authorize?${hub.query()}`);
  const again = await hub.visitor.post('/oauth/authorize', {
    ...fieldsOf(text),
    decision: 'allow',
    tags: 'x/y:z',
  });
  expect(again.status).toBe(422);
  expect(again.text).toContain('tags: must be of alice');
});

test('stored scripts: what an application says of itself is text', async () => {
  await using hub = await visited({ name: '<script>alert(1)</script>' });
  await signIn(hub.visitor);
  const { text } = await hub.visitor.get(`/oauth/authorize?${hub.query()}`);
  expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  expect(text).not.toContain('<script');
});

test('a consent whose code was not exchanged is listed, and can be ended', async () => {
  await using hub = await visited();
  const { visitor } = hub;
  await signIn(visitor);
  const code = await hub.codeFor('alice');
  const { text } = await visitor.get('/settings/applications');
  expect(text).toContain('Not fetched yet');
  const id = /applications\/([a-z0-9]{12})\/revoke/.exec(text)?.[1] ?? '';
  expect((await visitor.post(`/settings/applications/${id}/revoke`, {})).status).toBe(303);
  const late = await hub.exchange({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT });
  expect(late.status).toBe(422);
  expect((await visitor.get('/settings/applications')).text).toContain('You have let none.');
  hub.clock.setWall(1);
  await hub.codeFor('alice');
  hub.clock.setWall(600_001);
  expect((await visitor.get('/settings/applications')).text).toContain('You have let none.');
});

const PNG = Buffer.concat([Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'), Buffer.alloc(10)]);

/** A form with a file, as a browser sends it. */
async function upload(visitor: PageVisitor, path: string, file: Buffer, more: Record<string, string> = {}) {
  const form = new FormData();
  const fields = { name: 'Robot', domain: 'http://robot.test', redirect_uri: 'http://robot.test/b' };
  for (const [name, value] of Object.entries({ mark: visitor.mark, ...fields, agree: 'yes', ...more })) {
    form.append(name, value);
  }
  form.append('avatar', new Blob([file], { type: 'image/png' }), 'robot.png');
  const sent = new Response(form);
  const type = sent.headers.get('Content-Type') ?? '';
  return visitor.send(path, Buffer.from(await sent.arrayBuffer()), { 'Content-Type': type });
}

test('an avatar is uploaded with the form, and is none where it is no image or too large', async () => {
  await using hub = await visited();
  const { visitor } = hub;
  await signIn(visitor);
  const path = '/settings/organizations/acme/applications';
  const { text } = await visitor.get(path);
  expect(text).toContain('enctype="multipart/form-data"');
  const rows = [
    [Buffer.from('<svg onload="alert(1)"/>'), {}, 422],
    [Buffer.concat([PNG, Buffer.alloc(65_536)]), {}, 422],
    [Buffer.concat([PNG, Buffer.alloc(200_000)]), {}, 400],
    [PNG, { mark: 'x' }, 403],
    [PNG, {}, 200],
  ] as const;
  for (const [file, more, status] of rows) {
    expect((await upload(visitor, path, file, more)).status).toBe(status);
  }
  const broken = await visitor.send(path, 'nothing', { 'Content-Type': 'multipart/form-data; boundary=x' });
  expect(broken.status).toBe(400);
  const robots = hub.root.oauth.applications.list('acme').filter(({ name }) => name === 'Robot');
  expect(robots).toHaveLength(1);
  const address = new URL(robots[0]?.avatar ?? '').pathname;
  expect((await hub.ask('GET', address)).headers['content-type']).toBe('image/png');
  expect((await visitor.get(path)).text).toContain(`src="${address}"`);
});

test('the page of an organization gives an application another secret, once', async () => {
  await using hub = await visited();
  const { visitor } = hub;
  await signIn(visitor);
  const path = '/settings/organizations/acme/applications';
  await visitor.get(path);
  const renewed = await visitor.post(`${path}/${hub.application.id}/secret`, {});
  const secret = /bhc_[\w-]+/.exec(renewed.text)?.[0];
  expect([renewed.status, secret]).toEqual([200, expect.not.stringContaining(hub.client.client_secret)]);
  expect((await visitor.get(path)).text).not.toMatch(/bhc_/);
  expect((await visitor.post(`${path}/aaaaaaaaaaaa/secret`, {})).status).toBe(404);
  await hub.root.accounts.setMembership('acme', 'bob', 'admin');
  await hub.root.accounts.setMembership('acme', 'alice', 'member');
  expect((await visitor.post(`${path}/${hub.application.id}/secret`, {})).status).toBe(403);
});

test('the page of an organization: makes an application, shows its secret once, removes it', async () => {
  await using hub = await visited();
  const { visitor } = hub;
  await signIn(visitor);
  expect((await visitor.get('/settings/applications')).text).toContain(
    '/settings/organizations/acme/applications',
  );
  const path = '/settings/organizations/acme/applications';
  expect((await visitor.get(path)).text).toContain(hub.client.client_id);
  const fields = {
    name: 'Robot',
    domain: 'http://robot.test',
    redirect_uri: 'http://robot.test/b',
    scopes: '',
  };
  expect((await visitor.post(path, fields)).text).toContain('privacy policy');
  const made = await visitor.post(path, { ...fields, agree: 'yes', scopes: 'branch:write_tag' });
  expect(made.text).toMatch(/bhc_[\w-]+/);
  expect((await visitor.get(path)).text).not.toMatch(/bhc_/);
  const wrong = await visitor.post(path, { ...fields, agree: 'yes', redirect_uri: 'http://evil.test/' });
  expect([wrong.status, wrong.text.includes('redirect_uri: must be on the domain')]).toEqual([422, true]);
  const robot = hub.root.oauth.applications.list('acme').find(({ name }) => name === 'Robot');
  expect(robot?.scopes).toBe('branch:write_branch');
  await visitor.post(`${path}/${robot?.id ?? ''}/remove`, {});
  expect(hub.root.oauth.applications.list('acme')).toHaveLength(1);
  await hub.root.accounts.setMembership('acme', 'bob', 'admin');
  await hub.root.accounts.setMembership('acme', 'alice', 'member');
  expect((await visitor.get(path)).status).toBe(403);
});
