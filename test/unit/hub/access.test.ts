import { expect, test } from 'vitest';
import type { HubSession } from '../../../api/types/hub/ports.ts';
import { isEngineError } from '../../../daemon/base/errors.ts';
import { peopledHub, type OpenHub } from '../../support/hub/open-hub.ts';

const FINE = { permissions: { administration: 'write' } } as const;

/** Callers by what they show. */
const CALLERS: Readonly<Record<string, (open: OpenHub) => Promise<HubSession>>> = {
  nobody: async (open) => open.as(undefined),
  root: async (open) => open.root,
  'stranger, repo': classic('carol', 'repo', 'delete_repo'),
  'member, repo': classic('bob', 'repo', 'delete_repo'),
  'admin, no scopes': classic('alice'),
  'admin, public_repo': classic('alice', 'public_repo'),
  'admin, repo': classic('alice', 'repo'),
  'admin, repo and delete_repo': classic('alice', 'repo', 'delete_repo'),
  'admin, fine-grained for acme': fine('alice', { ...FINE, resource_owner: 'acme' }),
  'admin, fine-grained for one': fine('alice', { ...FINE, resource_owner: 'acme', repositories: ['open'] }),
  'admin, fine-grained for herself': fine('alice', FINE),
  'admin, fine-grained to read': fine('alice', {
    permissions: { administration: 'read' },
    resource_owner: 'acme',
  }),
};

/** Caller -> status of seeing, editing and removing the public, then the private repository of the organization. */
const TABLE: Readonly<Record<keyof typeof CALLERS, string>> = {
  nobody: '200 401 401 404 404 404',
  root: '200 200 204 200 200 204',
  'stranger, repo': '200 403 403 404 404 404',
  'member, repo': '200 403 403 200 403 403',
  'admin, no scopes': '200 403 403 404 404 404',
  'admin, public_repo': '200 403 403 404 404 404',
  'admin, repo': '200 200 403 200 200 403',
  'admin, repo and delete_repo': '200 200 204 200 200 204',
  'admin, fine-grained for acme': '200 200 204 200 200 204',
  'admin, fine-grained for one': '200 200 204 404 404 404',
  'admin, fine-grained for herself': '200 403 403 404 404 404',
  'admin, fine-grained to read': '200 403 403 200 403 403',
};

test.each(Object.entries(TABLE))('%s: %s', async (name, expected) => {
  using open = await peopledHub();
  const session = await CALLERS[name]?.(open);
  const statuses: string[] = [];
  for (const repository of ['open', 'secret']) {
    statuses.push(
      await statusOf(200, () => session?.repositories.get('acme', repository)),
      await statusOf(200, () =>
        session?.repositories.edit('ACME', `${repository}.git`, { description: 'x' }),
      ),
      await statusOf(204, () => session?.repositories.remove('acme', repository)),
    );
  }
  expect(statuses.join(' ')).toBe(expected);
});

test('lists hold what the caller may see', async () => {
  using open = await peopledHub();
  expect(names(open.as(undefined))).toEqual(['alice/open', 'acme/open']);
  expect(names(open.as(`token ${await open.token('bob', 'repo')}`))).toEqual([
    'alice/open',
    'acme/open',
    'acme/secret',
  ]);
  expect(names(open.root)).toHaveLength(4);
});

test.each([
  ['alice', ['public_repo'], { name: 'new' }, 'createMine', 'made'],
  ['alice', ['public_repo'], { name: 'new', private: true }, 'createMine', 'forbidden'],
  ['alice', ['repo'], { name: 'new', private: true }, 'createMine', 'made'],
  ['alice', ['repo'], { name: 'OPEN' }, 'createMine', 'invalid_argument'],
  ['alice', ['repo'], { name: 'new' }, 'createIn', 'made'],
  ['bob', ['repo'], { name: 'new' }, 'createIn', 'forbidden'],
  ['carol', ['repo'], { name: 'new' }, 'createIn', 'not_found'],
] as const)('%s with %j makes %j by %s: %s', async (user, scopes, request, verb, expected) => {
  using open = await peopledHub();
  const { repositories } = open.as(`token ${await open.token(user, ...scopes)}`);
  const making =
    verb === 'createMine' ? repositories.createMine(request) : repositories.createIn('acme', request);
  const outcome = await making.then(
    () => 'made',
    (error: unknown) => (isEngineError(error) ? error.code : 'broken'),
  );
  expect(outcome).toBe(expected);
});

test.each(['', '.', '..', 'a..b', '-a', 'a-', 'a___b', 'a/b', 'x.git', 'a b', 'é', 'x'.repeat(101)])(
  'a repository cannot be called %j',
  async (name) => {
    using open = await peopledHub();
    await expect(open.root.repositories.createFor('alice', { name })).rejects.toMatchObject({
      fields: [{ field: 'name', value: name }],
    });
  },
);

test('who is not root cannot administer', async () => {
  using open = await peopledHub();
  const { accounts, tokens } = open.as(`token ${await open.token('alice', 'repo', 'admin:org')}`);
  for (const attempt of [
    () => accounts.createUser({ login: 'new' }),
    () => accounts.setPassword('bob', 'password'),
    () => accounts.removeUser('bob'),
    () => tokens.create('bob', { scopes: [] }),
    () => Promise.resolve().then(() => tokens.list('bob')),
    () => tokens.revoke('bob', 1),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'not_found' });
  }
});

function names(session: HubSession): string[] {
  return session.repositories.all().map(({ full_name: fullName }) => fullName);
}

function classic(user: string, ...scopes: string[]) {
  return async (open: OpenHub): Promise<HubSession> => open.as(`token ${await open.token(user, ...scopes)}`);
}

function fine(user: string, request: Parameters<HubSession['tokens']['create']>[1]) {
  return async (open: OpenHub): Promise<HubSession> =>
    open.as(`Bearer ${(await open.root.tokens.create(user, request)).token}`);
}

async function statusOf(success: number, attempt: () => unknown): Promise<string> {
  const codes: Readonly<Record<string, number>> = { not_found: 404, forbidden: 403, unauthorized: 401 };
  try {
    await attempt();
    return String(success);
  } catch (error) {
    return String(isEngineError(error) ? (codes[error.code] ?? error.code) : error);
  }
}
