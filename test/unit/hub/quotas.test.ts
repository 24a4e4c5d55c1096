import { expect, test } from 'vitest';
import type { Application, Installation } from '../../../daemon/hub/identity/apps/app.ts';
import type { Caller } from '../../../daemon/hub/identity/caller.ts';
import type {
  AppUserToken,
  InstallationToken,
  OAuthToken,
  WorkflowToken,
} from '../../../daemon/hub/identity/tokens/token.ts';
import { keyOf, quotaOf, type RateFacts } from '../../../daemon/hub/limits/quotas.ts';
import { DEFAULT_RULES } from '../../../daemon/hub/limits/rules.ts';

const TIMES = { createdMs: 0, updatedMs: 0, expiresMs: null, lastUsedMs: null } as const;
const USER = { kind: 'user', id: 1, name: 'u', email: null, password: null, createdMs: 0 } as const;
const COMMON = { ...TIMES, id: 3, hash: 'h', lastEight: 'l' } as const;
const OF_USER = { ...COMMON, note: '', user: USER, application: 7 } as const;

/** Organizations: 100 has the higher limits, 200 has not. */
const owner = (id: number) => ({ kind: 'organization', name: `o${id}`, id }) as const;

function application(kind: 'app' | 'oauth-app', of: number): Application {
  const common = {
    ...TIMES,
    id: 7,
    clientId: 'Iv7.0',
    name: 'n',
    description: null,
    url: '',
    owner: owner(of),
    secrets: [],
  };
  return kind === 'app'
    ? { ...common, kind, slug: 's', permissions: {}, events: [], keys: [] }
    : { ...common, kind, callbackUrl: null };
}

function installation(at: number): Caller {
  const app = application('app', 200);
  if (app.kind !== 'app') {
    throw new Error('is an app');
  }
  const installed: Installation = {
    ...TIMES,
    id: 9,
    app: 7,
    account: owner(at),
    repositories: 'all',
    suspendedMs: null,
  };
  const token: InstallationToken = {
    ...COMMON,
    kind: 'installation',
    installation: 9,
    repositories: 'all',
    permissions: {},
  };
  return { kind: 'installation', app, installation: installed, token };
}

const oauth: OAuthToken = { ...OF_USER, kind: 'oauth', scopes: [] };
const appUser: AppUserToken = { ...OF_USER, kind: 'app-user' };
const workflow: WorkflowToken = { ...COMMON, kind: 'workflow', repository: 5, task: 't', permissions: {} };

function facts(
  size: { repositories: number; users: number },
  isMember = true,
  repositoryOf = 200,
): RateFacts {
  return {
    isEnterprise: ({ id }) => id === 100,
    isMember: () => isMember,
    sizeOf: () => size,
    ownerOf: () => owner(repositoryOf),
  };
}

const SMALL = facts({ repositories: 20, users: 20 });
const byOAuth = (of: number): Caller => ({
  kind: 'user',
  user: USER,
  token: oauth,
  application: application('oauth-app', of),
});

/** Seed 001, section 8: the table of primary limits. */
test.each<[string, Caller, RateFacts, string | undefined, number]>([
  ['nobody', { kind: 'anonymous', address: 'a' }, SMALL, 'address/a', 60],
  ['root', { kind: 'root' }, SMALL, undefined, 0],
  ['a page', { kind: 'page', user: USER }, SMALL, 'user/1', 5_000],
  ['OAuth token', byOAuth(200), SMALL, 'user/1', 5_000],
  ['OAuth token, enterprise', byOAuth(100), SMALL, 'user/1', 15_000],
  [
    'OAuth token, enterprise of others',
    byOAuth(100),
    facts({ repositories: 0, users: 0 }, false),
    'user/1',
    5_000,
  ],
  [
    'app user token, enterprise',
    { kind: 'user', user: USER, token: appUser, application: application('app', 100) },
    facts({ repositories: 0, users: 0 }, false),
    'user/1',
    15_000,
  ],
  ['client', { kind: 'client', application: application('oauth-app', 200) }, SMALL, 'client/Iv7.0', 5_000],
  [
    'client, enterprise',
    { kind: 'client', application: application('app', 100) },
    SMALL,
    'client/Iv7.0',
    15_000,
  ],
  ['installation', installation(200), SMALL, 'installation/9', 5_000],
  [
    'installation, 21 and 20',
    installation(200),
    facts({ repositories: 21, users: 20 }),
    'installation/9',
    5_050,
  ],
  [
    'installation, 30 and 40',
    installation(200),
    facts({ repositories: 30, users: 40 }),
    'installation/9',
    6_500,
  ],
  [
    'installation, many',
    installation(200),
    facts({ repositories: 999, users: 999 }),
    'installation/9',
    12_500,
  ],
  ['installation, enterprise', installation(100), SMALL, 'installation/9', 15_000],
  ['workflow', { kind: 'workflow', token: workflow }, SMALL, 'workflow/5', 1_000],
  [
    'workflow, enterprise',
    { kind: 'workflow', token: workflow },
    facts({ repositories: 0, users: 0 }, true, 100),
    'workflow/5',
    15_000,
  ],
])('%s has a limit of its own', (_name, caller, given, key, quota) => {
  expect([keyOf(caller), quotaOf(caller, DEFAULT_RULES, given)]).toEqual([key, quota]);
});
