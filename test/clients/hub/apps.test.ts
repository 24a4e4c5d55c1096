import { createAppAuth } from '@octokit/auth-app';
import { checkToken, deleteAuthorization, deleteToken, resetToken } from '@octokit/oauth-methods';
import { Octokit } from '@octokit/rest';
import { expect, test } from 'vitest';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { servedHub } from '../../support/hub/served-hub.ts';

/** GitHub's own libraries against the hub, over TCP. */
async function hubWithApps() {
  // The libraries sign with the time that it is.
  const hub = await servedHub({}, new ManualClock(BigInt(Date.now()) * 1_000_000n));
  const { request } = new Octokit({ baseUrl: hub.url });
  return { ...hub, baseUrl: hub.url, request };
}

test('@octokit/auth-app: a JSON web token, a token of an installation, a request', async () => {
  await using hub = await hubWithApps();
  const app = await hub.root.applications.createApp({
    name: 'Bot',
    owner: 'alice',
    permissions: { packages: 'write', administration: 'write' },
  });
  const { id } = await hub.root.applications.install('bot', 'acme', ['secret']);
  const octokit = new Octokit({
    authStrategy: createAppAuth,
    auth: { appId: app.id, privateKey: app.pem, installationId: id },
    baseUrl: hub.baseUrl,
  });
  expect((await octokit.apps.getAuthenticated()).data).toMatchObject({ slug: 'bot' });
  expect((await octokit.apps.listInstallations()).data).toMatchObject([{ id }]);
  const { data } = await octokit.apps.listReposAccessibleToInstallation();
  expect(data.repositories.map(({ full_name: name }) => name)).toEqual(['acme/secret']);
  await octokit.repos.update({ owner: 'acme', repo: 'secret', description: 'by a bot' });
  expect(hub.root.repositories.get('acme', 'secret').description).toBe('by a bot');
  await expect(octokit.repos.get({ owner: 'alice', repo: 'secret' })).rejects.toMatchObject({ status: 404 });
  await octokit.apps.revokeInstallationAccessToken();
});

test('@octokit/oauth-methods: check, reset and end the tokens of an OAuth application', async () => {
  await using hub = await hubWithApps();
  const { applications } = hub.root;
  const oauth = await applications.createOAuthApp({ name: 'Dash', owner: 'alice' });
  const { token } = await applications.mint(oauth.client_id, 'bob', ['repo']);
  const options = {
    clientType: 'oauth-app',
    clientId: oauth.client_id,
    clientSecret: oauth.client_secret,
    request: hub.request,
  } as const;
  const { authentication } = await checkToken({ ...options, token });
  expect(authentication).toMatchObject({ token, scopes: ['repo'] });
  const fresh = (await resetToken({ ...options, token })).authentication.token;
  await expect(checkToken({ ...options, token })).rejects.toMatchObject({ status: 404 });
  expect((await deleteToken({ ...options, token: fresh })).status).toBe(204);
  await expect(checkToken({ ...options, token: fresh })).rejects.toMatchObject({ status: 404 });
  const last = await applications.mint(oauth.client_id, 'bob', []);
  expect((await deleteAuthorization({ ...options, token: last.token })).status).toBe(204);
  await expect(checkToken({ ...options, token: last.token })).rejects.toMatchObject({ status: 404 });
});
