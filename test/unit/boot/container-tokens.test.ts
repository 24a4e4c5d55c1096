import { expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { ContainerTokens } from '../../../daemon/boot/hub/container-tokens.ts';
import { BASE_URL, peopledHub } from '../../support/hub/open-hub.ts';

const REQUEST = { owner: 'acme', repository: 'secret', permissions: { packages: 'write' } };

function tokensOf({ hub }: Awaited<ReturnType<typeof peopledHub>>) {
  return { workflowTokens: hub.workflowTokens, baseUrl: BASE_URL };
}

test('tokens of containers: minted once the hub is there, for one repository, until they are revoked', async () => {
  using open = await peopledHub();
  const tokens = new ContainerTokens({ log: silentLogger });
  const minting = tokens.mint(REQUEST, 'one');
  await tokens.open(tokensOf(open), () => true);
  const secret = await minting;
  const session = () => open.as(`Bearer ${secret}`);
  expect(tokens.url).toBe(BASE_URL);
  expect(session().repositories.get('acme', 'secret').name).toBe('secret');
  expect(() => session().repositories.get('alice', 'secret')).toThrow('Not Found');
  await tokens.revoke('one');
  expect(session).toThrow('Bad credentials');
});

test('tokens of containers that ended while no daemon was there end with the start of the hub', async () => {
  using open = await peopledHub();
  const before = new ContainerTokens({ log: silentLogger });
  await before.open(tokensOf(open), () => true);
  const [dead, live] = [await before.mint(REQUEST, 'dead'), await before.mint(REQUEST, 'live')];
  const after = new ContainerTokens({ log: silentLogger });
  await after.revoke('dead');
  await after.open(tokensOf(open), (id) => id === 'live');
  expect(() => open.as(`Bearer ${dead}`)).toThrow('Bad credentials');
  expect(open.as(`Bearer ${live}`).repositories.get('acme', 'secret').name).toBe('secret');
});

test.each([
  [{ ...REQUEST, repository: 'none' }, 'label berth.hub.token=acme/none: the hub has no such repository'],
  [
    { ...REQUEST, permissions: { webhooks: 'read' } },
    expect.stringContaining(
      'label berth.hub.permissions=webhooks:read: permissions.webhooks must be of metadata',
    ),
  ],
  [
    { ...REQUEST, permissions: { metadata: 'write' } },
    'label berth.hub.permissions=metadata:write: permissions.metadata must be read',
  ],
])('tokens of containers: %j is refused', async (request, message) => {
  using open = await peopledHub();
  const tokens = new ContainerTokens({ log: silentLogger });
  await tokens.open(tokensOf(open), () => true);
  await expect(tokens.check(request)).rejects.toMatchObject({ code: 'invalid_argument', message });
});

test('tokens of containers: without a hub they are refused', async () => {
  const tokens = new ContainerTokens({ log: silentLogger });
  await tokens.open(undefined, () => true);
  await expect(tokens.check(REQUEST)).rejects.toThrow(
    'label berth.hub.token=acme/secret: this engine has no hub (hub.address)',
  );
  await tokens.revoke('any');
});
