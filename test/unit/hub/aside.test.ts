import { armHere } from '../../support/fakes/failpoints.ts';
import { importPKCS8, SignJWT } from 'jose';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import type { CreatedHubApp } from '../../../api/types/hub/applications.ts';
import type { HubSession } from '../../../api/types/hub/ports.ts';
import type { MovedRecord } from '../../../daemon/hub/records/move/local-set.ts';
import { allOf } from '../../../daemon/hub/records/move/origin.ts';
import { oauthHub } from '../../support/hub/oauth-hub.ts';
import { openHub, type OpenHub } from '../../support/hub/open-hub.ts';

/** Records of a hub that were kept aside come into another one, whose ids count from 1 as well. */

afterEach(() => armHere(''));

const DIGEST = `sha256:${'a'.repeat(64)}`;

/** A hub with everything that comes back, and something that does not. */
async function before() {
  await using old = await oauthHub();
  const { root } = old;
  const { token } = await root.tokens.create('alice', { scopes: ['repo'] });
  const config = { url: 'https://example.org/', content_type: 'json' } as const;
  const alice = old.as(`token ${token}`);
  await alice.hooks.create('acme', 'secret', { config, events: ['push'] });
  const grant = await old.tokenFor('bob', { scope: 'user:read_user' });
  const permissions = { packages: 'write' } as const;
  const app = await root.applications.createApp({ owner: 'acme', name: 'robot', permissions });
  const { id } = await root.applications.install('robot', 'acme', ['secret']);
  const robot = await sessionOf(old, app);
  const installed = (await robot.apps.mintToken(id, {})).token;
  const shop = await root.applications.createOAuthApp({ owner: 'alice', name: 'shop' });
  const records: MovedRecord[] = await allOf(old.records);
  // As a push leaves them.
  records.push({ key: `blob/2/${DIGEST}`, value: { digest: DIGEST, size: 1, pendingMs: 0 } });
  return { token, grant: grant.token ?? '', records, app, installed, shop };
}

/** Of an app, by what it signs. Its client id is what it knows of itself. */
async function sessionOf(
  { hub, clock }: Pick<OpenHub, 'hub' | 'clock'>,
  { client_id: iss, pem }: Pick<CreatedHubApp, 'client_id' | 'pem'>,
): Promise<HubSession> {
  const now = Number(clock.nowNano() / 1_000_000_000n);
  const signed = await new SignJWT({ iss, iat: now - 60, exp: now + 540 })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(await importPKCS8(pem, 'RS256'));
  return await hub.open({ authorization: `Bearer ${signed}`, address: '192.0.2.1' });
}

/** A hub with users of its own, and the other one aside. */
async function beside(records: readonly MovedRecord[], users = ['dave', 'erin']) {
  let kept = [...records];
  const sources = () =>
    kept.length === 0
      ? []
      : [
          {
            name: 'host',
            records: () => kept,
            drop: () => {
              kept = [];
              return Promise.resolve();
            },
          },
        ];
  const open = await openHub({}, undefined, {}, 0, { aside: sources });
  onTestFinished(() => open[Symbol.dispose]());
  for (const login of users) {
    await open.root.accounts.createUser({ login });
    await open.root.repositories.createFor(login, { name: 'own' });
  }
  await open.root.applications.createApp({ owner: users[0] ?? '', name: 'bot' });
  return open;
}

const RESTORED = { accounts: 4, repositories: 4, oauth_applications: 1, apps: 2, left: {} };

async function refuseMixed(open: OpenHub, old: Awaited<ReturnType<typeof before>>): Promise<void> {
  const { token, grant, app, installed, shop } = old;
  const alice = open.as(`token ${token}`);
  expect(alice.accounts.me()).toMatchObject({ login: 'alice', id: 3 });
  expect(alice.repositories.get('acme', 'secret')).toMatchObject({ id: 6, permissions: { admin: true } });
  expect(alice.hooks.list('acme', 'secret')).toMatchObject([{ config: { url: 'https://example.org/' } }]);
  expect(open.as(`token ${grant}`).accounts.me()).toMatchObject({ login: 'bob' });
  expect(alice.repositories.get('dave', 'own').permissions).toMatchObject({ push: false });
  const applications = open.root.oauth.applications.list('acme').map(({ name }) => name);
  expect(applications).toEqual(['CI']);
  expect((await open.records.get(`blob/4/${DIGEST}`))?.value).toMatchObject({ digest: DIGEST });
  // By its client id, which has the number of another app in it here.
  const robot = await sessionOf(open, app);
  expect(robot.apps.me()).toMatchObject({ id: 2, slug: 'robot', client_id: app.client_id, owner: { id: 6 } });
  const [installation, ...others] = robot.apps.installations();
  expect([installation?.app_id, installation?.account.login, others]).toEqual([2, 'acme', []]);
  const fresh = await robot.apps.mintToken(installation?.id ?? 0, {});
  for (const secret of [installed, fresh.token]) {
    const names = open
      .as(`token ${secret}`)
      .apps.repositories()
      .repositories.map(({ name }) => name);
    expect(names).toEqual(['secret']);
  }
  expect(open.root.applications.oauthApps()).toMatchObject([{ client_id: shop.client_id, name: 'shop' }]);
  // What is made next has a number of its own.
  expect((await open.root.accounts.createUser({ login: 'frank' })).id).toBe(7);
}

test('accounts, repositories, hooks, tokens and OAuth applications come back with numbers that are free', async () => {
  const old = await before();
  const open = await beside(old.records);
  const names = open.root.aside.list().map(({ kind, name }) => `${kind} ${name}`);
  expect(names.toSorted()).toEqual([
    'app acme: robot',
    'oauth app alice: shop',
    'oauth application acme: CI',
    'organization acme',
    'repository acme/open',
    'repository acme/secret',
    'repository alice/open',
    'repository alice/secret',
    'user alice',
    'user bob',
    'user carol',
  ]);
  expect(await open.root.aside.restore('host')).toEqual(RESTORED);
  await refuseMixed(open, old);
  expect(open.root.aside.list()).toEqual([]);
  await expect(open.root.aside.restore('host')).rejects.toThrow('nothing is kept aside as "host"');
  expect((await open.records.list('restore/')).records).toEqual([]);
});

test('names that are taken refuse all of it, and nothing changes', async () => {
  const old = await before();
  const open = await beside(old.records, ['alice', 'carol']);
  const all = await allOf(open.records);
  await expect(open.root.aside.restore('host')).rejects.toThrow(
    'the hub has accounts of these names already: alice, carol',
  );
  expect(await allOf(open.records)).toEqual(all);
  expect(open.root.aside.list()).toHaveLength(11);
  const other = await beside(old.records);
  await other.root.applications.createApp({ owner: 'dave', name: 'Robot' });
  await expect(other.root.aside.restore('host')).rejects.toThrow(
    'the hub has apps of these names already: robot',
  );
});

test('nobody but root sees what is aside', async () => {
  const old = await before();
  const open = await beside(old.records);
  const dave = open.as(`token ${await open.token('dave', 'repo')}`);
  expect(() => dave.aside.list()).toThrow('Not Found');
  await expect(dave.aside.restore('host')).rejects.toThrow('Not Found');
});

test.each(['hub.restore.planned', 'hub.restore.copied', 'hub.restore.dropped'])(
  'what ends at %s is ended by the next attempt',
  async (step) => {
    const old = await before();
    const open = await beside(old.records);
    armHere(`${step}=error`);
    await expect(open.root.aside.restore('host')).rejects.toThrow(step);
    armHere('');
    if (open.root.aside.list().length > 0) {
      expect(await open.root.aside.restore('host')).toEqual(RESTORED);
    }
    await refuseMixed(open, old);
  },
);
