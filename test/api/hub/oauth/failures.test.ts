import { afterEach, expect, test } from 'vitest';
import { armHere } from '../../../support/fakes/failpoints.ts';
import { oauthHub, pairOf, REDIRECT } from '../../../support/hub/oauth-hub.ts';

const PREFIXES = ['oauth-application/', 'oauth-avatar/', 'authorization/', 'token/', 'counter/'];
const USES = new Set(['lastUsedMs', 'last_used_at']);
const AVATAR = Buffer.concat([Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'), Buffer.alloc(10)]).toString(
  'base64',
);
const NEW = { name: 'New', domain: 'http://new.test', redirect_uri: 'http://new.test/back', avatar: AVATAR };

afterEach(() => armHere(''));

async function rig() {
  const hub = await oauthHub({ avatar: AVATAR });
  const { applications, consent } = hub.root.oauth;
  const accesses = ['write_service_tokens', 'delete_service_tokens', 'delete_oauth_tokens'];
  const may = { Authorization: pairOf(await applications.createServiceToken('acme', { accesses })) };
  const spare = await applications.createServiceToken('acme', { accesses: ['read_service_tokens'] });
  const alices = await hub.tokenFor('alice');
  const code = await hub.codeFor('bob');
  const serviceTokens = '/v1/organizations/acme/service-tokens';
  const status = async (answer: ReturnType<typeof hub.ask>) => (await answer).status;
  const revoke = (token: string) =>
    status(
      hub.ask('POST', '/oauth/revoke', {
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ ...hub.client, token }).toString(),
      }),
    );
  const steps: Readonly<Record<string, () => Promise<number>>> = {
    'hub.oauth-application.create': () => rooted(applications.create('acme', NEW)),
    'hub.oauth-application.renew-secret': () => rooted(applications.renewSecret('acme', hub.application.id)),
    'hub.oauth-application.remove': () => rooted(applications.remove('acme', hub.application.id)),
    'hub.service-token.create': () =>
      status(hub.ask('POST', serviceTokens, { headers: may, body: { accesses: ['write_service_tokens'] } })),
    'hub.service-token.remove': () =>
      status(hub.ask('DELETE', `${serviceTokens}/${spare.id}`, { headers: may })),
    'hub.authorization.consent': () =>
      rooted(consent.decideFor({ login: 'bob', client_id: hub.client.client_id, redirect_uri: REDIRECT })),
    'hub.authorization.give': () =>
      status(hub.exchange({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT })),
    'hub.authorization.give of a refresh': () =>
      status(
        hub.exchange({ grant_type: 'refresh_token', refresh_token: alices.plain_text_refresh_token ?? '' }),
      ),
    'hub.authorization.revoke': () => revoke(alices.token ?? ''),
    'hub.authorization.revoke of a refresh': () => revoke(alices.plain_text_refresh_token ?? ''),
    'hub.authorization.end': () =>
      status(hub.ask('DELETE', `${hub.path}/tokens/${alices.id}`, { headers: may })),
  };
  /** What is written, by key: an update that was left half done shows here. */
  const written = async () => {
    const pages = await Promise.all(PREFIXES.map((prefix) => hub.records.list(prefix)));
    return new Map(pages.flatMap(({ records }) => records.map(({ key, value }) => [key, unused(value)])));
  };
  /** What the hub answers from memory. */
  const known = () => {
    const all = applications.list('acme');
    return unused({
      all,
      tokens: all.map(({ id }) => applications.tokens('acme', id)),
      serviceTokens: applications.serviceTokens('acme'),
    });
  };
  return { ...hub, steps, written, known };
}

/** Without when tokens were used: who asks for a step that fails has used one all the same. */
function unused(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, held: unknown) => (USES.has(key) ? undefined : held)));
}

/** As the HTTP would say. */
function rooted(work: Promise<unknown>): Promise<number> {
  return work.then(
    () => 201,
    () => 500,
  );
}

type Changed = Readonly<Record<string, number>>;

function count(of: ReadonlyMap<string, unknown>, prefix: string): number {
  return [...of.keys()].filter((key) => key.startsWith(prefix)).length;
}

/** How many records of each kind there are more than before. */
function changed(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): Changed {
  const more = PREFIXES.map((prefix) => [prefix, count(after, prefix) - count(before, prefix)] as const);
  return Object.fromEntries(more.filter(([, difference]) => difference !== 0));
}

test.each<[step: string, Changed]>([
  ['hub.oauth-application.create', { 'oauth-application/': 1, 'oauth-avatar/': 1 }],
  ['hub.oauth-application.renew-secret', {}],
  ['hub.oauth-application.remove', { 'oauth-application/': -1, 'oauth-avatar/': -1 }],
  ['hub.service-token.create', { 'token/': 1 }],
  ['hub.service-token.remove', { 'token/': -1 }],
  ['hub.authorization.consent', { 'authorization/': 1 }],
  ['hub.authorization.give', { 'token/': 1 }],
  // The token before goes.
  ['hub.authorization.give of a refresh', {}],
  ['hub.authorization.revoke', { 'token/': -1 }],
  ['hub.authorization.revoke of a refresh', { 'authorization/': -1, 'token/': -1 }],
  ['hub.authorization.end', { 'authorization/': -1, 'token/': -1 }],
])('a failure at %s leaves what there was, and the next attempt succeeds', async (step, difference) => {
  await using hub = await rig();
  const [written, known] = [await hub.written(), hub.known()];
  armHere(`${step.split(' ')[0] ?? ''}=error`);
  expect(await hub.steps[step]?.()).toBe(500);
  expect(await hub.written()).toEqual(written);
  expect(hub.known()).toEqual(known);
  armHere('');
  expect(await hub.steps[step]?.()).toBeLessThan(300);
  const after = await hub.written();
  expect(after).not.toEqual(written);
  expect(changed(written, after)).toEqual(difference);
});
