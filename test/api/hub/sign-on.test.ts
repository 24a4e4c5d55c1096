import { expect, test } from 'vitest';
import { servedHub } from '../../support/hub/served-hub.ts';

async function withSignOn() {
  const hub = await servedHub();
  await hub.root.accounts.configureOrganization('acme', { single_sign_on: true });
  return hub;
}

test('a classic token must be authorized for an organization with single sign-on', async () => {
  await using hub = await withSignOn();
  const made = await hub.root.tokens.create('bob', { scopes: ['repo', 'read:org'] });
  const { token } = made;
  const { id } = hub.root.accounts.organization('acme');
  const refused = await hub.ask('GET', '/repos/acme/secret', { token });
  expect(refused.status).toBe(403);
  expect(refused.headers['x-svc-sso']).toMatch(
    /^required; url=http:\/\/hub\.test:5010\/orgs\/acme\/sso\?authorization_request=\d+\.\d+\.\d+\.[\w-]{43}$/,
  );
  expect((await hub.ask('GET', '/orgs/acme/members', { token })).status).toBe(403);
  // What all may see stays open.
  expect((await hub.ask('GET', '/repos/acme/open', { token })).status).toBe(200);
  const partial = await hub.ask('GET', '/user/repos', { token });
  expect([partial.status, partial.headers['x-svc-sso']]).toEqual([
    200,
    `partial-results; organizations=${id}`,
  ]);
  expect(partial.body).toMatchObject([{ full_name: 'acme/open' }]);
  await hub.root.tokens.authorize('bob', made.id, 'acme');
  expect((await hub.ask('GET', '/repos/acme/secret', { token })).status).toBe(200);
  const whole = await hub.ask('GET', '/user/repos', { token });
  expect([whole.headers['x-svc-sso'], whole.body]).toEqual([
    undefined,
    [
      expect.objectContaining({ full_name: 'acme/open' }),
      expect.objectContaining({ full_name: 'acme/secret' }),
    ],
  ]);
});

test('whoever has no part in the organization is told of none; other kinds of tokens need nothing', async () => {
  await using hub = await withSignOn();
  const carol = await hub.ask('GET', '/repos/acme/secret', { token: await hub.token('carol', 'repo') });
  expect([carol.status, carol.headers['x-svc-sso']]).toEqual([404, undefined]);
  const fine = await hub.root.tokens.create('bob', {
    permissions: { packages: 'read' },
    resource_owner: 'acme',
  });
  expect((await hub.ask('GET', '/repos/acme/secret', { token: fine.token })).status).toBe(200);
  const { client_id: id } = await hub.root.applications.createOAuthApp({ name: 'Dash', owner: 'alice' });
  const { token } = await hub.root.applications.mint(id, 'bob', ['repo']);
  expect((await hub.ask('GET', '/repos/acme/secret', { token })).status).toBe(200);
  await expect(hub.root.tokens.authorize('carol', 1, 'acme')).rejects.toMatchObject({ code: 'not_found' });
  await expect(hub.root.tokens.authorize('bob', fine.id, 'acme')).rejects.toMatchObject({
    code: 'not_found',
  });
});
