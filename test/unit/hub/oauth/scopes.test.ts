import { expect, test } from 'vitest';
import { covers, tagsWith, type Place, type Resource } from '../../../../daemon/hub/oauth/scopes/access.ts';
import {
  ACCESS_NAMES,
  accessFacts,
  canonicalScope,
  GROUPS,
  RIGHTS,
  SCOPE_NAMES,
  scopeFacts,
  scopesWith,
} from '../../../../daemon/hub/oauth/scopes/names.ts';
import {
  narrowed,
  narrowedAccesses,
  readScopes,
  scopeText,
} from '../../../../daemon/hub/oauth/scopes/requested.ts';

// Organization 1 has the repositories 10 and 11; organization 2 has 20.
const ORGANIZATION: Resource = { group: 'organization', owner: 1 };
const DATABASE: Resource = { group: 'database', repository: 10 };
const BRANCH: Resource = { group: 'branch', repository: 10, tag: 'v1' };

const PLACES: Readonly<Record<string, Place>> = {
  'organization 1': { kind: 'owner', owner: 1 },
  'repository 10': { kind: 'repository', owner: 1, repository: 10 },
  'repository 11': { kind: 'repository', owner: 1, repository: 11 },
  'repository 20': { kind: 'repository', owner: 2, repository: 20 },
  '10:v1': { kind: 'tag', owner: 1, repository: 10, tag: 'v1' },
  '10:v2': { kind: 'tag', owner: 1, repository: 10, tag: 'v2' },
  '11:v1': { kind: 'tag', owner: 1, repository: 11, tag: 'v1' },
  '20:v1': { kind: 'tag', owner: 2, repository: 20, tag: 'v1' },
};

const ALL_OF_1 = ['organization 1', 'repository 10', 'repository 11', '10:v1', '10:v2', '11:v1'];

test.each([
  ['write_branches', ORGANIZATION, ALL_OF_1],
  ['write_branches', DATABASE, ['repository 10', '10:v1', '10:v2']],
  ['write_branch', BRANCH, ['10:v1']],
])('%s of %j covers the narrower: %j', (scope, resource, expected) => {
  const accesses = [{ resource, scopes: [scope] }];
  const covered = Object.keys(PLACES).filter((name) => {
    const place = PLACES[name];
    return place !== undefined && covers(accesses, 'push', place);
  });
  expect(covered).toEqual(expected);
  expect(covers(accesses, 'remove', { kind: 'repository', owner: 1, repository: 10 })).toBe(false);
});

test('every scope of every group gives what the table says, and nothing else', () => {
  const table = GROUPS.flatMap((group) =>
    SCOPE_NAMES[group].map((name) => [`${group}:${name}`, scopeFacts(group, name)?.rights.join(' ')]),
  );
  expect(Object.fromEntries(table)).toEqual({
    'user:read_user': 'read-user',
    'organization:read_organization': 'read-organization',
    'organization:read_databases': 'see',
    'organization:create_databases': 'see create',
    'organization:write_databases': 'see see-collaborators edit',
    'organization:delete_databases': 'see remove',
    'organization:read_branches': 'see pull',
    'organization:write_branches': 'see pull push',
    'organization:delete_branches': 'see pull delete-images',
    'organization:read_webhooks': 'see read-hooks',
    'organization:write_webhooks': 'see read-hooks write-hooks',
    'organization:delete_webhooks': 'see read-hooks remove-hooks',
    'database:read_database': 'see',
    'database:write_database': 'see see-collaborators edit',
    'database:delete_database': 'see remove',
    'database:read_branches': 'see pull',
    'database:write_branches': 'see pull push',
    'database:delete_branches': 'see pull delete-images',
    'database:read_webhooks': 'see read-hooks',
    'database:write_webhooks': 'see read-hooks write-hooks',
    'database:delete_webhooks': 'see read-hooks remove-hooks',
    'branch:read_branch': 'see pull',
    'branch:write_branch': 'see pull push',
    'branch:delete_branch': 'see pull delete-images',
  });
  expect(scopeFacts('organization', 'toString')).toBeUndefined();
  expect(RIGHTS.filter((right) => scopesWith(right).length === 0)).toEqual([]);
});

test("accesses of service tokens are the seed's, scopes of organizations, and no user's", () => {
  for (const name of ['read_oauth_applications', 'write_oauth_tokens', 'read_oauth_tokens']) {
    expect(ACCESS_NAMES).toContain(name);
    expect(accessFacts(name)?.rights).toEqual([]);
    expect(scopeFacts('organization', name)).toBeUndefined();
  }
  expect(accessFacts('write_branches')?.rights).toContain('push');
});

test('a user is not an owner, and another user is not the one', () => {
  const accesses = [{ resource: { group: 'user', user: 1 } as const, scopes: ['read_user'] }];
  expect(covers(accesses, 'read-user', { kind: 'user', user: 1 })).toBe(true);
  expect(covers(accesses, 'read-user', { kind: 'user', user: 2 })).toBe(false);
  expect(covers(accesses, 'read-user', { kind: 'owner', owner: 1 })).toBe(false);
});

test('tags that are granted one by one', () => {
  const accesses = [
    { resource: BRANCH, scopes: ['write_branch'] },
    { resource: { ...BRANCH, tag: 'v2' }, scopes: ['read_branch'] },
    { resource: DATABASE, scopes: ['write_branches'] },
  ];
  expect([
    tagsWith(accesses, 'push', 10),
    tagsWith(accesses, 'pull', 10),
    tagsWith(accesses, 'pull', 11),
  ]).toEqual([['v1'], ['v1', 'v2'], []]);
});

test.each([
  ['database', 'write_tags', 'write_branches'],
  ['branch', 'write_tag', 'write_branch'],
  ['branch', 'write_branches', 'write_branch'],
  ['organization', 'read_repositories', 'read_databases'],
  ['database', 'read_repository', 'read_database'],
  ['user', 'read_user', 'read_user'],
] as const)('%s: %s is %s', (group, name, expected) => {
  expect(canonicalScope(group, name)).toBe(expected);
});

test('scopes of an application: unknown ones and unknown groups are named', () => {
  expect(readScopes({ branch: ['write_tag', 'write_branch'] })).toEqual({
    scopes: { branch: ['write_branch'] },
    problems: [],
  });
  const { problems } = readScopes({ organization: ['write_branches', 'root'], table: ['x'] });
  expect(problems.map(({ field, value }) => [field, value])).toEqual([
    ['scopes.organization', 'root'],
    ['scopes.table', 'table'],
  ]);
});

const REGISTERED = { user: ['read_user'], database: ['write_branches'], branch: ['write_branch'] };

test.each([
  [undefined, REGISTERED],
  ['', REGISTERED],
  ['read_user', { user: ['read_user'] }],
  ['write_branches', { database: ['write_branches'], branch: ['write_branch'] }],
  ['database:write_branches', { database: ['write_branches'] }],
  ['database:write_tags  user:read_user', { user: ['read_user'], database: ['write_branches'] }],
  ['delete_branches', undefined],
  ['organization:write_branches', undefined],
  ['user:', undefined],
])('scope %j asks for %j', (scope, expected) => {
  expect(narrowed(REGISTERED, scope)).toEqual(expected);
});

test('a refresh narrows, and never goes beyond', () => {
  const accesses = [
    { resource: DATABASE, scopes: ['write_branches', 'read_webhooks'] },
    { resource: BRANCH, scopes: ['write_branch'] },
  ];
  expect(narrowedAccesses(accesses, 'read_webhooks')).toEqual([
    { resource: DATABASE, scopes: ['read_webhooks'] },
  ]);
  expect(narrowedAccesses(accesses, undefined)).toEqual(accesses);
  expect(() => narrowedAccesses(accesses, 'write_webhooks')).toThrow('beyond what was granted');
  expect(scopeText(accesses)).toBe('database:write_branches database:read_webhooks branch:write_branch');
});
