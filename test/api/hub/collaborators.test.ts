import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { peopledHub } from '../../support/hub/open-hub.ts';
import { serveHub } from '../../support/hub/serve-hub.ts';

const PART = '/repos/alice/secret/collaborators';

async function served() {
  const open = await peopledHub();
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
  [undefined, 404, 404, false],
  ['pull', 200, 403, false],
  ['push', 200, 403, true],
  ['admin', 200, 200, true],
] as const)('with %s a collaborator sees: %s, edits: %s, pushes: %s', async (permission, see, edit, push) => {
  await using hub = await served();
  const [alice, carol] = [await hub.token('alice', 'repo'), await hub.token('carol', 'repo')];
  if (permission !== undefined) {
    const added = await hub.ask('PUT', `${PART}/CAROL`, { token: alice, body: { permission } });
    expect([added.status, added.body]).toEqual([204, undefined]);
  }
  const seen = await hub.ask('GET', '/repos/alice/secret', { token: carol });
  const edited = await hub.ask('PATCH', '/repos/alice/secret', { token: carol, body: { description: 'x' } });
  expect([seen.status, edited.status]).toEqual([see, edit]);
  if (see === 200) {
    expect(seen.body).toMatchObject({ permissions: { pull: true, push, admin: edit === 200 } });
  }
  const names = await hub.ask('GET', '/user/repos', { token: carol });
  expect(names.body).toHaveLength(see === 200 ? 1 : 0);
});

test('collaborators are listed with what they may, and their parts end', async () => {
  await using hub = await served();
  const token = await hub.token('alice', 'repo');
  await hub.ask('PUT', `${PART}/carol`, { token, body: {} });
  const all = await hub.ask('GET', PART, { token });
  expect(all.body).toMatchObject([
    { login: 'alice', role_name: 'admin', permissions: { admin: true } },
    {
      login: 'carol',
      role_name: 'write',
      permissions: { admin: false, maintain: false, push: true, triage: true, pull: true },
    },
  ]);
  expect((await hub.ask('GET', `${PART}/carol`, { token })).status).toBe(204);
  expect((await hub.ask('GET', `${PART}/carol/permission`, { token })).body).toMatchObject({
    permission: 'write',
    user: { login: 'carol' },
  });
  const carol = await hub.token('carol', 'repo');
  // Of herself she may end it, of others not.
  expect((await hub.ask('DELETE', `${PART}/alice`, { token: carol })).status).toBe(403);
  expect((await hub.ask('DELETE', `${PART}/carol`, { token: carol })).status).toBe(204);
  expect((await hub.ask('GET', `${PART}/carol`, { token })).status).toBe(404);
  expect((await hub.ask('GET', `${PART}/carol/permission`, { token })).body).toEqual({
    permission: 'none',
    role_name: '',
    user: null,
  });
  expect((await hub.ask('GET', '/repos/alice/secret', { token: carol })).status).toBe(404);
});

test.each([
  [`${PART}/nobody`, {}, 404],
  [`${PART}/alice`, {}, 422],
  [`${PART}/carol`, { permission: 'maintain' }, 422],
  [`${PART}/carol`, { role: 'push' }, 422],
  ['/repos/alice/nothing/collaborators/carol', {}, 404],
])('%s with %j: %s', async (path, body, status) => {
  await using hub = await served();
  const token = await hub.token('alice', 'repo');
  expect((await hub.ask('PUT', path, { token, body })).status).toBe(status);
});

test('a part ends with its repository, and with its user', async () => {
  await using hub = await served();
  const { collaborators, repositories, accounts } = hub.root;
  await collaborators.add('alice', 'secret', 'carol', {});
  await repositories.remove('alice', 'secret');
  await repositories.createFor('alice', { name: 'secret', private: true });
  expect(collaborators.list('alice', 'secret').map(({ login }) => login)).toEqual(['alice']);
  await collaborators.add('alice', 'secret', 'carol', {});
  await accounts.removeUser('carol');
  await accounts.createUser({ login: 'carol' });
  expect(collaborators.list('alice', 'secret').map(({ login }) => login)).toEqual(['alice']);
});

test('a repository has no more collaborators than its bound', async () => {
  await using hub = await served();
  for (let count = 0; count < limits.hubCollaboratorsMax; count += 1) {
    await hub.root.accounts.createUser({ login: `u${count}` });
    await hub.root.collaborators.add('alice', 'open', `u${count}`, {});
  }
  await expect(hub.root.collaborators.add('alice', 'open', 'carol', {})).rejects.toMatchObject({
    code: 'resource_exhausted',
  });
  // Who is one already may get another part.
  await hub.root.collaborators.add('alice', 'open', 'u0', { permission: 'admin' });
});
