import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import {
  appItself,
  appUser,
  classic,
  client,
  fineGrained,
  installation,
  nobody,
  oauth,
  page,
  root,
  workflow,
  wrong,
  type CallerOf,
  type MakeCaller,
} from '../../support/hub/callers.ts';
import { hasGithubSchemas, schemaProblems } from '../../support/hub/github-schemas.ts';
import type { HubAnswer } from '../../support/hub/serve-hub.ts';
import { servedHub } from '../../support/hub/served-hub.ts';

type Hub = Awaited<ReturnType<typeof servedHub>>;
type Class = 'read' | 'write' | 'remove';

interface Endpoint {
  method: string;
  /** Below `hooks`. */
  path: string;
  /** To see, to change or to remove. */
  need: Class;
  body?: object;
  /** Whoever may. There is no delivery 1 where the clock stands still. */
  status: number;
  /** GitHub's; `[` = a list of them; undefined = no body. */
  schema?: string;
}

/** Endpoints 1 to 12 of seed 001 and the old path of the last. */
const ENDPOINTS: readonly Endpoint[] = [
  { method: 'GET', path: '', need: 'read', status: 200, schema: '[hook' },
  {
    method: 'POST',
    path: '',
    need: 'write',
    body: { config: { url: 'https://example.com/new' } },
    status: 201,
    schema: 'hook',
  },
  { method: 'GET', path: '/ID', need: 'read', status: 200, schema: 'hook' },
  { method: 'PATCH', path: '/ID', need: 'write', body: { active: true }, status: 200, schema: 'hook' },
  { method: 'GET', path: '/ID/config', need: 'read', status: 200, schema: 'webhook-config' },
  {
    method: 'PATCH',
    path: '/ID/config',
    need: 'write',
    body: { content_type: 'json' },
    status: 200,
    schema: 'webhook-config',
  },
  { method: 'GET', path: '/ID/deliveries', need: 'read', status: 200, schema: '[hook-delivery-item' },
  { method: 'GET', path: '/ID/deliveries/1', need: 'read', status: 404 },
  { method: 'POST', path: '/ID/deliveries/1/attempts', need: 'write', status: 404 },
  { method: 'POST', path: '/ID/pings', need: 'read', status: 204 },
  { method: 'POST', path: '/ID/tests', need: 'read', status: 204 },
  { method: 'POST', path: '/ID/test', need: 'read', status: 204 },
  { method: 'DELETE', path: '/ID', need: 'remove', status: 204 },
];

/** Answers to what reads, changes, removes; 0 = granted. */
type Answers = readonly [number, number, number];

interface Row {
  caller: MakeCaller;
  /** Of acme's public and private repository. */
  open: Answers;
  secret: Answers;
  /** What 403 says; `scope` = the scopes that it needs. */
  forbidden?: string;
  /** Requests of an hour; undefined = none are counted. */
  perHour?: number;
}

const NONE: Answers = [0, 0, 0];
const HIDDEN: Answers = [404, 404, 404];
const REFUSED: Answers = [403, 403, 403];
const BY_INTEGRATION = 'Resource not accessible by integration';
const BY_PERSONAL = 'Resource not accessible by personal access token';
const SCOPES: Record<Class, string> = { read: 'read', write: 'write', remove: 'admin' };

/** The eleven kinds of callers, each with what it may be given, none, and one that is wrong. */
const CALLERS: Readonly<Record<string, Row>> = {
  nobody: { caller: nobody, open: [401, 401, 401], secret: HIDDEN, perHour: 60 },
  'a wrong token': { caller: wrong, open: [401, 401, 401], secret: [401, 401, 401] },
  root: { caller: root, open: NONE, secret: NONE },
  'somebody signed in at the pages, whom REST does not know': {
    caller: page,
    open: [401, 401, 401],
    secret: HIDDEN,
    perHour: 60,
  },
  'a classic token without scopes': {
    caller: classic('alice'),
    open: REFUSED,
    secret: HIDDEN,
    forbidden: 'scope',
    perHour: 5000,
  },
  'a classic token that reads hooks': {
    caller: classic('alice', 'read:repo_hook'),
    open: [0, 403, 403],
    secret: HIDDEN,
    forbidden: 'scope',
    perHour: 5000,
  },
  'a classic token that writes hooks': {
    caller: classic('alice', 'write:repo_hook'),
    open: [0, 0, 403],
    secret: HIDDEN,
    forbidden: 'scope',
    perHour: 5000,
  },
  'a classic token for hooks': {
    caller: classic('alice', 'admin:repo_hook'),
    open: NONE,
    secret: HIDDEN,
    perHour: 5000,
  },
  'a classic token for repositories': {
    caller: classic('alice', 'repo'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'a member': {
    caller: classic('bob', 'repo'),
    open: REFUSED,
    secret: REFUSED,
    forbidden: 'Must have admin rights to Repository: bob has not.',
    perHour: 5000,
  },
  'a stranger': {
    caller: classic('carol', 'repo'),
    open: REFUSED,
    secret: HIDDEN,
    forbidden: 'Must have admin rights to Repository: carol has not.',
    perHour: 5000,
  },
  'a fine-grained token that reads': {
    caller: fineGrained('read'),
    open: [0, 403, 403],
    secret: [0, 403, 403],
    forbidden: BY_PERSONAL,
    perHour: 5000,
  },
  'a fine-grained token that writes': {
    caller: fineGrained('write'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'a fine-grained token of another owner': {
    caller: fineGrained('write', 'alice'),
    open: REFUSED,
    secret: HIDDEN,
    forbidden: BY_PERSONAL,
    perHour: 5000,
  },
  'an installation that reads': {
    caller: installation('read'),
    open: [0, 403, 403],
    secret: [0, 403, 403],
    forbidden: BY_INTEGRATION,
    perHour: 5000,
  },
  'an installation that writes': {
    caller: installation('write'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'an app by JSON web token': {
    caller: appItself,
    open: REFUSED,
    secret: HIDDEN,
    forbidden: BY_INTEGRATION,
    perHour: 5000,
  },
  'a token of an app for a user that reads': {
    caller: appUser('read'),
    open: [0, 403, 403],
    secret: [0, 403, 403],
    forbidden: BY_INTEGRATION,
    perHour: 5000,
  },
  'a token of an app for a user that writes': {
    caller: appUser('write'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'an OAuth token for hooks': {
    caller: oauth('alice', 'admin:repo_hook'),
    open: NONE,
    secret: HIDDEN,
    perHour: 5000,
  },
  'an OAuth token for repositories': {
    caller: oauth('alice', 'repo'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'an OAuth application by its secret': {
    caller: client,
    open: REFUSED,
    secret: HIDDEN,
    forbidden: BY_INTEGRATION,
    perHour: 5000,
  },
  'a task': {
    caller: workflow({ packages: 'read' }),
    open: REFUSED,
    secret: HIDDEN,
    forbidden: BY_INTEGRATION,
    perHour: 1000,
  },
  'a task that reads hooks': {
    caller: workflow({ repository_hooks: 'read' }),
    open: [0, 403, 403],
    secret: HIDDEN,
    forbidden: BY_INTEGRATION,
    perHour: 1000,
  },
};

const hasSchemas = hasGithubSchemas();

test.each(Object.entries(CALLERS))('endpoints 1 to 12: %s', async (_, row) => {
  await using hub = await servedHub();
  const caller = await row.caller(hub);
  const isWrong = row.caller === wrong;
  for (const [repository, answers] of [
    ['open', row.open],
    ['secret', row.secret],
    ['nothing', isWrong ? row.open : HIDDEN],
  ] as const) {
    const id = repository === 'nothing' ? 1 : (await hookOf(hub, repository)).id;
    for (const endpoint of ENDPOINTS) {
      // Wrong credentials that come often are locked out for a while.
      await hub.clock.advance(isWrong ? limits.hubBadCredentialsWithinMs : 0);
      const path = `/repos/acme/${repository}/hooks${endpoint.path.replace('ID', String(id))}`;
      const { method, body } = endpoint;
      const answer = await hub.ask(method, path, { ...caller.ask, ...(body && { body }) });
      const expected = answers[['read', 'write', 'remove'].indexOf(endpoint.need)] ?? 0;
      const status = expected === 0 ? endpoint.status : expected;
      expect([method, path, answer.status]).toEqual([method, path, status]);
      expectBody(answer, endpoint, row);
    }
  }
});

function expectBody({ status, body }: HubAnswer, { schema, need }: Endpoint, row: Row): void {
  if (status >= 400) {
    const scope = `This token needs the scope ${SCOPES[need]}:repo_hook or repo.`;
    const messages: Record<number, string | undefined> = {
      401: row.caller === wrong ? 'Bad credentials' : 'Requires authentication',
      403: row.forbidden === 'scope' ? scope : row.forbidden,
      404: 'Not Found',
    };
    expectError(body, status, messages[status] ?? '');
  } else if (schema === undefined) {
    expect(body).toBe(undefined);
  } else {
    const list: unknown[] = Array.isArray(body) ? body : [body];
    expect(Array.isArray(body)).toBe(schema.startsWith('['));
    expect(list.flatMap((one) => problemsOf(schema.replace('[', ''), one))).toEqual([]);
  }
}

function expectError(body: unknown, status: number, message: string): void {
  expect(body).toEqual({ message, status: String(status), documentation_url: expect.any(String) });
  expect(problemsOf('basic-error', body)).toEqual([]);
}

function problemsOf(schema: string, value: unknown): string[] {
  return hasSchemas ? schemaProblems('answers', schema, value) : [];
}

test.each(Object.entries(CALLERS))('endpoint 13, the check of a token: %s', async (_, row) => {
  await using hub = await servedHub();
  const caller = await row.caller(hub);
  const { clientId, token } = caller.own ?? (await otherApplication(hub));
  const check = async (id: string, secret: string): Promise<HubAnswer> =>
    await hub.ask('POST', `/applications/${id}/token`, { ...caller.ask, body: { access_token: secret } });
  const answer = await check(clientId, token);
  if (caller.own === undefined) {
    const message = 'Requires authentication by client id and client secret';
    expect(answer.status).toBe(401);
    expectError(answer.body, 401, row.caller === wrong ? 'Bad credentials' : message);
    return;
  }
  expect(answer).toMatchObject({ status: 200, body: { token, scopes: ['repo'], user: { login: 'bob' } } });
  expect(problemsOf('authorization', answer.body)).toEqual([]);
  const other = await otherApplication(hub);
  for (const [id, secret] of [
    [clientId, 'bho_none'],
    [clientId, other.token],
    [other.clientId, other.token],
  ] as const) {
    const refused = await check(id, secret);
    expect(refused.status).toBe(404);
    expectError(refused.body, 404, 'Not Found');
  }
});

test.each(Object.entries(CALLERS))('endpoint 14, what is left of the hour: %s', async (_, row) => {
  await using hub = await servedHub();
  const caller: CallerOf = await row.caller(hub);
  const before = await hub.ask('GET', '/rate_limit', caller.ask);
  if (row.perHour === undefined) {
    const isWrong = row.caller === wrong;
    const status = isWrong ? 401 : 404;
    const message = isWrong ? 'Bad credentials' : 'Rate limiting is not enabled.';
    expect(before.status).toBe(status);
    expectError(before.body, status, message);
    return;
  }
  expect(before.status).toBe(200);
  expect(problemsOf('rate-limit-overview', before.body)).toEqual([]);
  expect(core(before)['limit']).toBe(row.perHour);
  await hub.ask('GET', '/repos/acme/open', caller.ask);
  const after = await hub.ask('GET', '/rate_limit', caller.ask);
  expect(core(after)['used']).toBe((core(before)['used'] ?? 0) + 1);
  expect(after.headers['x-ratelimit-limit']).toBe(String(row.perHour));
});

function core({ body }: HubAnswer): Record<string, number> {
  return Object(body).resources.core;
}

function hookOf({ root: { hooks } }: Hub, repository: string) {
  return hooks.create('acme', repository, { config: { url: 'https://example.com/' } });
}

async function otherApplication({ root: { applications } }: Hub) {
  const { client_id: clientId } = await applications.createOAuthApp({ name: 'Other', owner: 'alice' });
  const { token } = await applications.mint(clientId, 'bob', []);
  return { clientId, token };
}
