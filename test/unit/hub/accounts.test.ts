import { expect, test } from 'vitest';
import { InvalidFieldsError } from '../../../daemon/base/invalid-fields.ts';
import { openHub, peopledHub } from '../../support/hub/open-hub.ts';

test.each(['alice', 'A', 'a-b-1', 'x'.repeat(39)])('the name %s is one', async (login) => {
  using open = await openHub();
  expect((await open.root.accounts.createUser({ login })).login).toBe(login);
});

test.each(['', '-a', 'a-', 'a--b', 'a_b', 'a/b', 'a b', 'ä', '..', 'x'.repeat(40)])(
  'the name %j is none',
  async (login) => {
    using open = await openHub();
    const refused = open.root.accounts.createUser({ login });
    await expect(refused).rejects.toThrow(InvalidFieldsError);
    await expect(refused).rejects.toMatchObject({ fields: [{ field: 'login', value: login }] });
  },
);

test('all that is wrong is said at once, without the password', async () => {
  using open = await openHub();
  const refused = open.root.accounts.createUser({ login: 'a b', email: 'x', password: 'short' });
  await expect(refused).rejects.toMatchObject({
    fields: [{ field: 'login' }, { field: 'email', value: 'x' }, { field: 'password' }],
  });
  await expect(refused).rejects.not.toThrow('short');
});

test('a name is taken whatever its case, by users and organizations alike', async () => {
  using open = await peopledHub();
  const { accounts } = open.root;
  const taken = { fields: [{ code: 'already_exists' }] };
  await expect(accounts.createUser({ login: 'ALICE' })).rejects.toMatchObject(taken);
  await expect(accounts.createUser({ login: 'Acme' })).rejects.toMatchObject(taken);
  await expect(accounts.createOrganization({ login: 'Bob', admin: 'alice' })).rejects.toMatchObject(taken);
  await expect(accounts.createOrganization({ login: 'new', admin: 'nobody' })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('of a hundred at once with one name one is made', async () => {
  using open = await openHub();
  const made = await Promise.allSettled(
    Array.from({ length: 100 }, () => open.root.accounts.createUser({ login: 'same' })),
  );
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const others = await Promise.all(
    Array.from({ length: 50 }, (_, index) => open.root.accounts.createUser({ login: `u${index}` })),
  );
  expect(new Set(others.map(({ id }) => id)).size).toBe(50);
});

test('an account goes when it owns nothing, and the next of that name is another', async () => {
  using open = await peopledHub();
  const { accounts, repositories } = open.root;
  const token = await open.token('alice', 'repo');
  await expect(accounts.removeUser('alice')).rejects.toThrow('owns 2 repositories');
  for (const name of ['open', 'secret']) {
    await repositories.remove('alice', name);
  }
  await expect(accounts.removeUser('alice')).rejects.toThrow('only admin of acme');
  await accounts.setMembership('acme', 'bob', 'admin');
  const { id } = accounts.user('alice');
  await accounts.removeUser('alice');
  const again = await accounts.createUser({ login: 'alice' });
  expect(again.id).not.toBe(id);
  // Its token and its membership are not the new one's.
  expect(() => open.as(`token ${token}`)).toThrow('Bad credentials');
  expect(accounts.members('acme').map(({ login }) => login)).toEqual(['bob']);
});

test('the only admin of an organization stays one', async () => {
  using open = await peopledHub();
  const { accounts } = open.root;
  await expect(accounts.setMembership('acme', 'alice', 'member')).rejects.toThrow('only admin');
  await expect(accounts.removeMembership('acme', 'alice')).rejects.toThrow('only admin');
  await accounts.setMembership('acme', 'carol', 'admin');
  await accounts.removeMembership('acme', 'alice');
  expect(() => accounts.membership('acme', 'alice')).toThrow('is no member');
});
