import { armHere } from '../../support/fakes/failpoints.ts';
import { afterEach, expect, onTestFinished, test } from 'vitest';
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
  await root.applications.createApp({ owner: 'acme', name: 'robot' });
  const records: MovedRecord[] = await allOf(old.records);
  // As a push leaves them.
  records.push({ key: `blob/2/${DIGEST}`, value: { digest: DIGEST, size: 1, pendingMs: 0 } });
  return { token, grant: grant.token ?? '', clientId: old.application.client_id, records };
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
  return open;
}

const RESTORED = { accounts: 4, repositories: 4, oauth_applications: 1, left: { app: 1 } };

async function refuseMixed(open: OpenHub, { token, grant }: { token: string; grant: string }): Promise<void> {
  const alice = open.as(`token ${token}`);
  expect(alice.accounts.me()).toMatchObject({ login: 'alice', id: 3 });
  expect(alice.repositories.get('acme', 'secret')).toMatchObject({ id: 6, permissions: { admin: true } });
  expect(alice.hooks.list('acme', 'secret')).toMatchObject([{ config: { url: 'https://example.org/' } }]);
  expect(open.as(`token ${grant}`).accounts.me()).toMatchObject({ login: 'bob' });
  expect(alice.repositories.get('dave', 'own').permissions).toMatchObject({ push: false });
  const names = open.root.oauth.applications.list('acme').map(({ name }) => name);
  expect(names).toEqual(['CI']);
  expect((await open.records.get(`blob/4/${DIGEST}`))?.value).toMatchObject({ digest: DIGEST });
  // What is made next has a number of its own.
  expect((await open.root.accounts.createUser({ login: 'frank' })).id).toBe(7);
}

test('accounts, repositories, hooks, tokens and OAuth applications come back with numbers that are free', async () => {
  const old = await before();
  const open = await beside(old.records);
  const names = open.root.aside.list().map(({ kind, name }) => `${kind} ${name}`);
  expect(names.toSorted()).toEqual([
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
  expect(open.root.aside.list()).toHaveLength(9);
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
