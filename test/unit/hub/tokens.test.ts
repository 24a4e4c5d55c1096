import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { peopledHub } from '../../support/hub/open-hub.ts';
import { settled } from '../../support/fakes/manual-clock.ts';

test('a token is shown once, and its secret is not stored', async () => {
  using open = await peopledHub();
  const made = await open.root.tokens.create('bob', { scopes: ['repo'], note: 'ci' });
  expect(made.token).toMatch(/^bhp_[\w-]{50,}$/);
  const [listed] = open.root.tokens.list('bob');
  expect(listed).toEqual({ ...made, token: undefined });
  expect(JSON.stringify(open.root.tokens.list('bob'))).not.toContain(made.token);
});

test('scopes are normalised: those that another covers go', async () => {
  using open = await peopledHub();
  const scopes = ['read:repo_hook', 'repo', 'public_repo', 'write:repo_hook', 'repo'];
  expect((await open.root.tokens.create('bob', { scopes })).scopes).toEqual(['repo', 'write:repo_hook']);
});

test.each([
  [{ scopes: ['nope'] }, 'scopes', 'nope'],
  [{ scopes: [], expires_in: 0 }, 'expires_in', 0],
  [{ scopes: [], repositories: ['open'] }, 'repositories', ['open']],
  [{ permissions: { packages: 'admin' } }, 'permissions.packages', 'admin'],
  [{ permissions: { metadata: 'write' } }, 'permissions.metadata', 'write'],
  [{ permissions: { constructor: 'read' } }, 'permissions.constructor', 'read'],
  [{ permissions: {}, repositories: ['nope'] }, 'repositories', 'nope'],
  [{ permissions: {}, scopes: ['repo'] }, 'scopes', ['repo']],
])('%j is refused, by field and value', async (request, field, value) => {
  using open = await peopledHub();
  await expect(open.root.tokens.create('alice', request)).rejects.toMatchObject({
    fields: [{ field, value }],
  });
  expect(open.root.tokens.list('alice')).toEqual([]);
});

test('a token for an account that its user has no part in is not made', async () => {
  using open = await peopledHub();
  const request = { permissions: {}, resource_owner: 'acme' };
  await open.root.tokens.create('bob', request);
  await expect(open.root.tokens.create('carol', request)).rejects.toMatchObject({ code: 'not_found' });
  await expect(
    open.root.tokens.create('carol', { permissions: {}, resource_owner: 'bob' }),
  ).rejects.toMatchObject({ code: 'not_found' });
});

test('an expired token is worth nothing, nor is a revoked one', async () => {
  using open = await peopledHub();
  const short = await open.root.tokens.create('bob', { scopes: ['repo'], expires_in: 60 });
  const long = await open.root.tokens.create('bob', { scopes: ['repo'] });
  expect(open.as(`token ${short.token}`).accounts.me().login).toBe('bob');
  await open.clock.advance(60_000);
  expect(() => open.as(`token ${short.token}`)).toThrow('Bad credentials');
  await open.root.tokens.revoke('bob', long.id);
  expect(() => open.as(`Bearer ${long.token}`)).toThrow('Bad credentials');
  await expect(open.root.tokens.revoke('bob', long.id)).rejects.toMatchObject({ code: 'not_found' });
});

test('the last use of a token is written down, not with each request', async () => {
  using open = await peopledHub();
  const token = await open.token('bob', 'repo');
  const lastUse = () => open.root.tokens.list('bob')[0]?.last_used_at;
  expect(lastUse()).toBeNull();
  open.as(`token ${token}`);
  await settled();
  const first = lastUse();
  expect(first).toBe('2026-01-01T00:00:00Z');
  await open.clock.advance(limits.hubLastUseMs - 1_000);
  open.as(`token ${token}`);
  await settled();
  expect(lastUse()).toBe(first);
  await open.clock.advance(2_000);
  open.as(`token ${token}`);
  await settled();
  expect(lastUse()).toBe('2026-01-01T00:01:01Z');
});

test.each([
  ['Bearer TOKEN', true],
  ['bearer TOKEN', true],
  ['token TOKEN', true],
  ['Basic bob:TOKEN', true],
  ['Basic BOB:TOKEN', true],
  ['Basic alice:TOKEN', false],
  ['Basic bob:secret', false],
  ['Basic :TOKEN', false],
  ['Digest TOKEN', false],
  ['TOKEN', false],
  ['Bearer TOKEN x', false],
  ['Bearer TOKENx', false],
])('the header %s: %s', async (header, isRight) => {
  using open = await peopledHub();
  const token = await open.token('bob', 'repo');
  const [scheme = '', ...rest] = header.replace('TOKEN', token).split(' ');
  const value = scheme === 'Basic' ? Buffer.from(rest.join(' ')).toString('base64') : rest.join(' ');
  const session = () => open.as(`${scheme} ${value}`.trim()).accounts.me().login;
  if (isRight) {
    expect(session()).toBe('bob');
  } else {
    expect(session).toThrow('Bad credentials');
  }
});

test('after many wrong credentials right ones are refused too, by address and by user, for a while', async () => {
  using open = await peopledHub();
  const token = await open.token('bob', 'repo');
  const wrong = `Basic ${Buffer.from('bob:wrong').toString('base64')}`;
  for (let count = 0; count < limits.hubBadCredentialsMax; count += 1) {
    expect(() => open.as(wrong, '192.0.2.9')).toThrow('Bad credentials');
  }
  const locked = 'Maximum number of login attempts exceeded';
  expect(() => open.as(`token ${token}`, '192.0.2.9')).toThrow(locked);
  expect(() => open.as(`token ${token}`, '192.0.2.10')).toThrow(locked);
  // Others are not.
  const other = await open.token('alice', 'repo');
  expect(open.as(`token ${other}`, '192.0.2.10').accounts.me().login).toBe('alice');
  expect(open.as(undefined, '192.0.2.9').repositories.all()).toHaveLength(2);
  await open.clock.advance(limits.hubLockoutMs + 1);
  expect(open.as(`token ${token}`, '192.0.2.9').accounts.me().login).toBe('bob');
});
