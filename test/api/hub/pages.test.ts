import { expect, test } from 'vitest';
import { html } from '../../../api/hub/pages/html.ts';
import { ownPath } from '../../../api/hub/pages/page.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { armHere } from '../../support/fakes/failpoints.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { withFakes } from '../../support/hub/fake-pages.ts';
import { pageVisitor, type PageVisitor } from '../../support/hub/page-visitor.ts';
import { servedHub } from '../../support/hub/served-hub.ts';

const PASSWORD = 'correct horse';

async function withPassword(redelivered: number[] = []) {
  const hub = await servedHub({ anonymousPerHour: 0 }, new ManualClock(), (pages) =>
    withFakes(pages, redelivered),
  );
  await hub.root.accounts.setPassword('alice', PASSWORD);
  return { ...hub, visitor: pageVisitor(hub) };
}

async function signIn(visitor: PageVisitor, fields: Record<string, string> = {}) {
  await visitor.get('/login');
  return visitor.post('/login', { name: 'alice', password: PASSWORD, return_to: '/', ...fields });
}

test('signing in with name and password, by a cookie that scripts and other sites do not get', async () => {
  await using hub = await withPassword();
  const { visitor } = hub;
  const answer = await signIn(visitor, { return_to: '/settings/tokens' });
  expect([answer.status, answer.headers.location]).toEqual([303, '/settings/tokens']);
  expect(answer.headers['set-cookie']).toEqual([
    expect.stringMatching(/^berth_session=bhs_[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/),
  ]);
  expect((await visitor.get('/')).text).toContain('Signed in as <a href="/alice">alice</a>');
  // The secret is nobody's token, and what is stored is not it.
  const secret = visitor.cookies.get('berth_session') ?? '';
  expect((await hub.ask('GET', '/user', { token: secret })).status).toBe(401);
  expect(JSON.stringify((await hub.records.list('sign-in/')).records)).not.toContain(secret);
  // Nor does the cookie open anything but pages.
  const cookie = { Cookie: `berth_session=${secret}` };
  expect((await hub.ask('GET', '/user', { headers: cookie })).status).toBe(401);
  expect((await visitor.post('/logout', {})).headers.location).toBe('/login');
  expect((await hub.ask('GET', '/settings/tokens', { headers: cookie })).status).toBe(303);
});

test.each([
  ['a wrong password', { password: 'wrong' }],
  ['no such user', { name: 'nobody' }],
  ['an organization', { name: 'acme' }],
  ['a user without a password', { name: 'bob', password: '' }],
])('%s: 401, and the name comes back escaped', async (_what, fields) => {
  await using hub = await withPassword();
  const answer = await signIn(hub.visitor, fields);
  expect([answer.status, answer.text.includes('Incorrect name or password.')]).toEqual([401, true]);
  const hostile = await signIn(hub.visitor, { ...fields, name: '"><script>' });
  expect(hostile.text).toContain('value="&quot;&gt;&lt;script&gt;"');
});

test('after many wrong passwords right ones are refused too', async () => {
  await using hub = await withPassword();
  for (let count = 0; count < limits.hubBadCredentialsMax; count += 1) {
    await signIn(hub.visitor, { password: 'wrong' });
  }
  expect((await signIn(hub.visitor)).status).toBe(403);
});

test.each([
  ['of another site', { Origin: 'http://evil.test' }, {}],
  ['of no site', { Origin: 'null' }, {}],
  ['of a site beside', { 'Sec-Fetch-Site': 'same-site' }, {}],
  ['without a mark', {}, { mark: '' }],
  ['with a mark of nobody', {}, { mark: 'x'.repeat(43) }],
])('a form %s is refused: 403, and nothing is made', async (_what, headers, fields) => {
  await using hub = await withPassword();
  const { visitor } = hub;
  await signIn(visitor);
  await visitor.get('/settings/tokens');
  const form = { note: 'x', scope: 'repo', expires: '', ...fields };
  expect((await visitor.post('/settings/tokens', form, headers)).status).toBe(403);
  expect(hub.root.tokens.list('alice')).toEqual([]);
});

test('a mark is for one browser and one user: that of somebody else does not serve', async () => {
  await using hub = await withPassword();
  const attacker = pageVisitor(hub);
  await attacker.get('/login');
  await signIn(hub.visitor);
  await hub.visitor.get('/settings/tokens');
  const answer = await hub.visitor.post('/settings/tokens', { mark: attacker.mark, note: 'x' });
  expect(answer.status).toBe(403);
});

test('a secret that was planted before signing in is worth nothing afterwards', async () => {
  await using hub = await withPassword();
  const { visitor } = hub;
  visitor.cookies.set('berth_session', 'bhs_planted');
  await signIn(visitor);
  const first = visitor.cookies.get('berth_session') ?? '';
  expect(first).not.toBe('bhs_planted');
  // Signing in again ends the one before.
  await signIn(visitor);
  const old = await hub.ask('GET', '/settings/tokens', { headers: { Cookie: `berth_session=${first}` } });
  expect(old.status).toBe(303);
});

test('the secret changes by the hour, and the one before serves a minute longer', async () => {
  await using hub = await withPassword();
  const { visitor } = hub;
  await signIn(visitor);
  const first = visitor.cookies.get('berth_session') ?? '';
  await hub.clock.advance(limits.hubSignInRenewMs);
  await visitor.get('/settings/tokens');
  const second = visitor.cookies.get('berth_session') ?? '';
  expect(second).not.toBe(first);
  const status = async (secret: string) => {
    const headers = { Cookie: `berth_session=${secret}` };
    return (await hub.ask('GET', '/settings/tokens', { headers })).status;
  };
  expect(await status(first)).toBe(200);
  await hub.clock.advance(limits.hubSignInGraceMs);
  expect([await status(first), await status(second)]).toEqual([303, 200]);
});

test('another password ends what was signed in', async () => {
  await using hub = await withPassword();
  await signIn(hub.visitor);
  await hub.root.accounts.setPassword('alice', 'another password');
  expect((await hub.visitor.get('/settings/tokens')).status).toBe(303);
});

test('a failure while signing in leaves nobody signed in', async () => {
  await using hub = await withPassword();
  armHere('hub.sign-in.add=error');
  expect((await signIn(hub.visitor)).status).toBe(500);
  expect((await hub.records.list('sign-in/')).records).toEqual([]);
  armHere('');
  expect((await signIn(hub.visitor)).status).toBe(303);
});

test('tokens are made at the pages, shown once, and revoked', async () => {
  await using hub = await withPassword();
  const { visitor } = hub;
  await signIn(visitor);
  await visitor.get('/settings/tokens');
  const form = { note: 'ci <b>', scope: 'repo', expires: '2592000' };
  const made = await visitor.post('/settings/tokens', form);
  const token = /bhp_[\w-]+/.exec(made.text)?.[0] ?? '';
  expect([made.status, made.headers['cache-control']]).toEqual([200, 'no-store']);
  expect((await hub.ask('GET', '/user', { token })).body).toMatchObject({ login: 'alice' });
  const page = await visitor.get('/settings/tokens');
  expect(page.text).not.toContain(token);
  expect(page.text).toContain('ci &lt;b&gt;');
  const wrong = await visitor.post('/settings/tokens', { note: 'x', scope: 'nope', expires: '' });
  expect([wrong.status, wrong.text.includes('The token was not made')]).toEqual([422, true]);
  await visitor.post('/settings/tokens/1/revoke', {});
  expect((await hub.ask('GET', '/user', { token })).status).toBe(401);
  // Nobody else's.
  const bobs = await hub.root.tokens.create('bob', { scopes: [] });
  expect((await visitor.post(`/settings/tokens/${bobs.id}/revoke`, {})).status).toBe(404);
});

test('the address of X-Svc-SSO authorizes the token, for its user and an hour', async () => {
  await using hub = await withPassword();
  await hub.root.accounts.configureOrganization('acme', { single_sign_on: true });
  const { token } = await hub.root.tokens.create('alice', { scopes: ['repo'] });
  const refused = async () => {
    const { status, headers } = await hub.ask('GET', '/repos/acme/secret', { token });
    return { status, path: String(headers['x-svc-sso']).replace('required; url=http://hub.test:5010', '') };
  };
  const { path } = await refused();
  const { visitor } = hub;
  expect((await visitor.get(path)).headers.location).toBe(`/login?return_to=${encodeURIComponent(path)}`);
  await signIn(visitor);
  expect((await visitor.get(path)).text).toContain('Authorize a token for acme');
  expect((await visitor.get(`${path}x`)).status).toBe(404);
  const request = path.split('=')[1] ?? '';
  await hub.clock.advance(limits.hubSignOnLinkMs);
  expect((await visitor.get(path)).status).toBe(404);
  const fresh = (await refused()).path.split('=')[1] ?? '';
  expect((await visitor.post('/orgs/acme/sso', { authorization_request: request })).status).toBe(404);
  expect((await visitor.post('/orgs/acme/sso', { authorization_request: fresh })).status).toBe(200);
  expect((await refused()).status).toBe(200);
});

test('what may not be seen is not found, and path tricks lead nowhere', async () => {
  await using hub = await withPassword();
  const { visitor } = hub;
  for (const path of [
    '/acme/secret',
    '/nobody',
    '/acme/nothing',
    '/acme/..%2fsecret',
    '/..%2f..%2fetc/passwd',
    '/acme/open/',
    '//evil.test/x',
    '/%00',
    '/acme/open/settings/hooks/0x1',
  ]) {
    expect([path, (await visitor.get(path)).status]).toEqual([path, 404]);
  }
  await signIn(visitor);
  expect((await visitor.get('/acme/secret')).status).toBe(200);
});

test('every page says to browsers what it may load, and that it stands in no frame', async () => {
  await using hub = await withPassword();
  const { visitor } = hub;
  await signIn(visitor);
  for (const path of [
    '/',
    '/login',
    '/alice',
    '/acme',
    '/acme/open',
    '/settings/tokens',
    '/settings/limits',
    '/docs',
    '/no',
  ]) {
    const { headers, text } = await visitor.get(path);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self';/);
    expect(text).not.toMatch(/<script|style=|https?:\/\/(?!hub\.test)/);
    expect(text.match(/<h1[ >]/g)).toHaveLength(1);
  }
});

test('a delivery shows what was sent and answered, escaped, and is sent again', async () => {
  const redelivered: number[] = [];
  await using hub = await withPassword(redelivered);
  const { visitor } = hub;
  await signIn(visitor);
  const page = await visitor.get('/alice/open/settings/hooks/7/deliveries/12');
  expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  expect(page.text).toContain('&lt;b&gt;broken&lt;/b&gt;');
  const again = await visitor.post('/alice/open/settings/hooks/7/deliveries/12/redeliver', {});
  expect([again.status, redelivered]).toEqual([303, [12]]);
});

test.each([
  ['/settings/tokens?x=1', '/settings/tokens?x=1'],
  ['//evil.test', '/'],
  ['/\\evil.test', '/'],
  ['https://evil.test', '/'],
  ['/a\r\nSet-Cookie: x', '/'],
  [null, '/'],
])('back to %j leads to %j', (asked, path) => {
  expect(ownPath(asked)).toBe(path);
});

test('what is put into HTML is escaped once', () => {
  const inner = html`<b>${'<&"\'>'}</b>`;
  expect(html`<p title="${'"'}">${inner}${[html`<i></i>`, '<']}${undefined}${false}${0}</p>`.text).toBe(
    '<p title="&quot;"><b>&lt;&amp;&quot;&#39;&gt;</b><i></i>&lt;0</p>',
  );
});

test('programs get JSON where browsers get pages', async () => {
  await using hub = await withPassword();
  const headers = { Accept: 'text/html' };
  const versions = await hub.ask('GET', '/versions', { headers });
  expect(versions.body).toEqual(['2022-11-28', '2026-03-10']);
  expect((await hub.ask('GET', '/acme/open')).body).toMatchObject({ message: 'Not Found' });
});
