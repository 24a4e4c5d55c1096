import { importPKCS8, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { servedHub } from '../../support/hub/served-hub.ts';

type Hub = Awaited<ReturnType<typeof servedHub>>;

type Class = 'read' | 'write' | 'remove';

/** Endpoints 1 to 12 of seed 001 and the old path of the last, by what they need: to see, to change or to remove. */
const ENDPOINTS: readonly (readonly [string, string, Class, object?])[] = [
  ['GET', '', 'read'],
  ['POST', '', 'write', { config: { url: 'https://example.com/new' } }],
  ['GET', '/ID', 'read'],
  ['PATCH', '/ID', 'write', { active: true }],
  ['GET', '/ID/config', 'read'],
  ['PATCH', '/ID/config', 'write', { content_type: 'json' }],
  ['GET', '/ID/deliveries', 'read'],
  ['GET', '/ID/deliveries/1', 'read'],
  ['POST', '/ID/deliveries/1/attempts', 'write'],
  ['POST', '/ID/pings', 'read'],
  ['POST', '/ID/tests', 'read'],
  ['POST', '/ID/test', 'read'],
  ['DELETE', '/ID', 'remove'],
];

/** What an endpoint answers whoever may: there is no delivery 1 yet where the clock stands still. */
const GRANTED: Readonly<Record<string, number>> = {
  'POST ': 201,
  'POST /ID/pings': 204,
  'POST /ID/tests': 204,
  'POST /ID/test': 204,
  'DELETE /ID': 204,
  'GET /ID/deliveries/1': 404,
  'POST /ID/deliveries/1/attempts': 404,
};

const WRONG = 'token bhp_wrong';

/** By caller: answers of acme's public and private repository to what reads, changes, removes. `0`: granted. */
const CALLERS: readonly (readonly [string, (hub: Hub) => Promise<string | undefined>, Answers, Answers])[] = [
  ['nobody', () => Promise.resolve(undefined), [401, 401, 401], [404, 404, 404]],
  ['a wrong token', () => Promise.resolve(WRONG), [401, 401, 401], [401, 401, 401]],
  ['a classic token without scopes', classic('alice'), [403, 403, 403], [404, 404, 404]],
  ['a classic token that reads hooks', classic('alice', 'read:repo_hook'), [0, 403, 403], [404, 404, 404]],
  ['a classic token that writes hooks', classic('alice', 'write:repo_hook'), [0, 0, 403], [404, 404, 404]],
  ['a classic token for hooks', classic('alice', 'admin:repo_hook'), [0, 0, 0], [404, 404, 404]],
  ['a classic token for repositories', classic('alice', 'repo'), [0, 0, 0], [0, 0, 0]],
  ['a member', classic('bob', 'repo'), [403, 403, 403], [403, 403, 403]],
  ['a stranger', classic('carol', 'repo'), [403, 403, 403], [404, 404, 404]],
  ['a fine-grained token that reads', fineGrained('read'), [0, 403, 403], [0, 403, 403]],
  ['a fine-grained token that writes', fineGrained('write'), [0, 0, 0], [0, 0, 0]],
  ['a fine-grained token of another owner', fineGrained('write', 'alice'), [403, 403, 403], [404, 404, 404]],
  ['an installation that reads', installation('read'), [0, 403, 403], [0, 403, 403]],
  ['an installation that writes', installation('write'), [0, 0, 0], [0, 0, 0]],
  ['an app by JSON web token', appItself, [403, 403, 403], [404, 404, 404]],
  ['an OAuth token for hooks', oauth('alice', 'admin:repo_hook'), [0, 0, 0], [404, 404, 404]],
  ['an OAuth token for repositories', oauth('alice', 'repo'), [0, 0, 0], [0, 0, 0]],
  ['an OAuth application by its secret', client, [403, 403, 403], [404, 404, 404]],
  ['a task', workflow, [403, 403, 403], [404, 404, 404]],
];

type Answers = readonly [number, number, number];

test.each(CALLERS)('%s', async (_, authorize, open, secret) => {
  await using hub = await servedHub();
  const authorization = await authorize(hub);
  const headers = authorization === undefined ? {} : { Authorization: authorization };
  for (const [repository, answers] of [
    ['open', open],
    ['secret', secret],
    ['nothing', authorization === WRONG ? [401, 401, 401] : [404, 404, 404]],
  ] as const) {
    const id = repository === 'nothing' ? 1 : (await hookOf(hub, repository)).id;
    for (const [method, path, need, body] of ENDPOINTS) {
      // Wrong credentials that come often are locked out for a while.
      await hub.clock.advance(authorization === WRONG ? limits.hubBadCredentialsWithinMs : 0);
      const answer = await hub.ask(
        method,
        `/repos/acme/${repository}/hooks${path.replace('ID', String(id))}`,
        {
          headers,
          ...(body && { body }),
        },
      );
      const expected = answers[['read', 'write', 'remove'].indexOf(need)] ?? 0;
      const status = expected === 0 ? (GRANTED[`${method} ${path}`] ?? 200) : expected;
      expect([repository, method, path, answer.status]).toEqual([repository, method, path, status]);
      expect(answer.body ?? {}).toEqual(
        status < 400
          ? expect.anything()
          : expect.objectContaining({ message: expect.any(String), status: String(status) }),
      );
    }
  }
  // Endpoint 14 is there for everybody; credentials that are wrong are nobody's.
  const limit = await hub.ask('GET', '/rate_limit', { headers });
  expect(limit.status).toBe(authorization === WRONG ? 401 : 200);
});

function hookOf({ root }: Hub, repository: string) {
  return root.hooks.create('acme', repository, { config: { url: 'https://example.com/' } });
}

function classic(user: string, ...scopes: string[]) {
  return async (hub: Hub) => `token ${await hub.token(user, ...scopes)}`;
}

function fineGrained(level: string, owner = 'acme') {
  return async ({ root }: Hub) => {
    const { token } = await root.tokens.create('alice', {
      permissions: { repository_hooks: level },
      resource_owner: owner,
    });
    return `Bearer ${token}`;
  };
}

async function app({ root }: Hub, level: string) {
  const made = await root.applications.createApp({
    name: 'Bot',
    owner: 'alice',
    permissions: { repository_hooks: level },
  });
  return { made, installed: await root.applications.install('bot', 'acme') };
}

function installation(level: string) {
  return async (hub: Hub) => {
    const { made, installed } = await app(hub, level);
    const { body } = await hub.ask('POST', `/app/installations/${installed.id}/access_tokens`, {
      headers: { Authorization: await signed(hub, made) },
    });
    return `Bearer ${String(Object(body).token)}`;
  };
}

async function appItself(hub: Hub) {
  const { made } = await app(hub, 'write');
  return signed(hub, made);
}

async function signed({ clock }: Hub, { id, pem }: { id: number; pem: string }) {
  const now = Number(clock.nowNano() / 1_000_000_000n);
  const jwt = new SignJWT({ iss: String(id), iat: now - 60, exp: now + 500 });
  return `Bearer ${await jwt.setProtectedHeader({ alg: 'RS256' }).sign(await importPKCS8(pem, 'RS256'))}`;
}

function oauth(user: string, ...scopes: string[]) {
  return async ({ root }: Hub) => {
    const { client_id: id } = await root.applications.createOAuthApp({ name: 'Dash', owner: 'alice' });
    return `token ${(await root.applications.mint(id, user, scopes)).token}`;
  };
}

async function client({ root }: Hub) {
  const made = await root.applications.createOAuthApp({ name: 'Dash', owner: 'alice' });
  return `Basic ${Buffer.from(`${made.client_id}:${made.client_secret}`).toString('base64')}`;
}

async function workflow({ hub, root }: Hub) {
  const { id } = root.repositories.get('acme', 'open');
  return `Bearer ${await hub.workflowTokens.mint(id, { packages: 'read', metadata: 'read' }, 'task1')}`;
}
