import { importPKCS8, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { armHere } from '../../support/fakes/failpoints.ts';
import { settled } from '../../support/fakes/manual-clock.ts';
import { servedHub } from '../../support/hub/served-hub.ts';

async function rig() {
  const hub = await servedHub();
  const { applications } = hub.root;
  const app = await applications.createApp({
    name: 'Bot',
    owner: 'alice',
    permissions: { packages: 'read' },
  });
  const { id } = await applications.install('bot', 'acme');
  const oauth = await applications.createOAuthApp({ name: 'Dash', owner: 'alice' });
  const { token } = await applications.mint(oauth.client_id, 'bob', []);
  const nowS = Number(hub.clock.nowNano() / 1_000_000_000n);
  const jwt = await new SignJWT({ iss: app.client_id, iat: nowS, exp: nowS + 60 })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(await importPKCS8(app.pem, 'RS256'));
  const basic = Buffer.from(`${oauth.client_id}:${oauth.client_secret}`).toString('base64');
  const steps: Readonly<Record<string, () => Promise<number>>> = {
    'hub.app.create': () => rooted(applications.createApp({ name: 'New', owner: 'bob' })),
    'hub.oauth-app.create': () => rooted(applications.createOAuthApp({ name: 'New', owner: 'bob' })),
    'hub.installation.create': () => rooted(applications.install('bot', 'bob')),
    'hub.delegated-token.mint': () => rooted(applications.mint(oauth.client_id, 'bob', [])),
    'hub.workflow-token.mint': () => rooted(hub.hub.workflowTokens.mint(1, {}, 'task')),
    'hub.installation-token.mint': async () => {
      const headers = { Authorization: `Bearer ${jwt}` };
      return (await hub.ask('POST', `/app/installations/${id}/access_tokens`, { headers })).status;
    },
    'hub.delegated-token.reset': async () => {
      const headers = { Authorization: `Basic ${basic}` };
      const path = `/applications/${oauth.client_id}/token`;
      return (await hub.ask('PATCH', path, { headers, body: { access_token: token } })).status;
    },
  };
  const known = () => ({
    apps: applications.apps(),
    oauth: applications.oauthApps(),
    installations: applications.installations(),
    user: hub.as(`token ${token}`).accounts.me().login,
  });
  return { ...hub, steps, known };
}

/** As the HTTP would say. */
function rooted(work: Promise<unknown>): Promise<number> {
  return work.then(
    () => 201,
    () => 500,
  );
}

test.each([
  'hub.app.create',
  'hub.oauth-app.create',
  'hub.installation.create',
  'hub.delegated-token.mint',
  'hub.delegated-token.reset',
  'hub.workflow-token.mint',
  'hub.installation-token.mint',
])('a failure at %s leaves what there was, and the next attempt succeeds', async (step) => {
  await using hub = await rig();
  const before = hub.known();
  armHere(`${step}=error`);
  expect(await hub.steps[step]?.()).toBe(500);
  expect(hub.known()).toEqual(before);
  armHere('');
  expect(await hub.steps[step]?.()).toBeLessThan(300);
});

test('tokens that are over or lead to nobody go, at the next time where the disk refused', async () => {
  await using hub = await rig();
  const { applications } = hub.root;
  const { client_id: id } = await applications.createOAuthApp({ name: 'Gone', owner: 'alice' });
  await applications.mint(id, 'bob', []);
  const kept = await hub.token('bob', 'repo');
  await applications.removeOAuthApp(id);
  const count = async () => (await hub.records.list('token/')).records.length;
  expect(await count()).toBe(3);
  armHere('hub.tokens.sweep=error');
  await hub.clock.advance(limits.hubSweepMs);
  await settled();
  expect(await count()).toBe(3);
  armHere('');
  await hub.clock.advance(limits.hubSweepMs);
  await settled();
  expect(await count()).toBe(2);
  expect(hub.as(`token ${kept}`).accounts.me().login).toBe('bob');
});
