import { expect, test } from 'vitest';
import { runHubCommand } from '../../../daemon/boot/hub/run-command.ts';
import { openHub } from '../../support/hub/open-hub.ts';
import { serveHub } from '../../support/hub/serve-hub.ts';

/** Runs commands as a shell would: what is printed, or the one line of the error. */
async function shell() {
  const open = await openHub();
  const server = await serveHub(open);
  const run = async (line: string, input = ''): Promise<string> => {
    let printed = '';
    try {
      await runHubCommand([...line.split(' '), '--host', `unix://${server.socketPath}`], {
        readInput: () => input,
        write: (text) => (printed += text),
        loadConfig: () => {
          throw new Error('not needed');
        },
      });
      return printed;
    } catch (error) {
      return `error: ${String(error)}`;
    }
  };
  return {
    run,
    ask: server.ask,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      open[Symbol.dispose]();
    },
  };
}

test('a headless machine: user, organization, repository, token', async () => {
  await using at = await shell();
  expect(await at.run('user create alice --password-stdin --email a@example.org', 'long enough\nmore')).toBe(
    'alice\n',
  );
  expect(await at.run('org create acme --owner alice')).toBe('acme\n');
  expect(await at.run('repo create acme/app --private')).toBe('acme/app\n');
  const token = await at.run(
    'token create --user alice --scopes repo,admin:repo_hook,write:packages --expires 90d',
  );
  expect(token).toMatch(/^bhp_\S+\n$/);
  expect(await at.ask('GET', '/repos/acme/app', { token: token.trim() })).toMatchObject({
    status: 200,
    body: { private: true, permissions: { admin: true } },
  });
  expect(await at.run('token list --user alice')).toMatch(
    /^ID +KIND +NOTE +SCOPES +EXPIRES AT +LAST USED AT\n1 +classic +repo,\S+,write:packages +2026-04-01T00:00:00Z /,
  );
  expect(await at.run('token revoke 1 --user alice')).toBe('');
  expect((await at.ask('GET', '/user', { token: token.trim() })).status).toBe(401);
});

test('a headless machine: app, installation, OAuth application, single sign-on', async () => {
  await using at = await shell();
  await at.run('user create alice');
  await at.run('org create acme --owner alice');
  await at.run('repo create acme/app --private');
  const app: unknown = JSON.parse(await at.run('app create Bot --owner acme --permissions packages=write'));
  expect(app).toMatchObject({
    slug: 'bot',
    client_secret: expect.stringMatching(/^bhc_/),
    pem: expect.stringContaining('BEGIN PRIVATE KEY'),
    permissions: { packages: 'write', metadata: 'read' },
  });
  expect(JSON.parse(await at.run('installation create bot --account acme --repositories app'))).toMatchObject(
    {
      id: 1,
      repository_selection: 'selected',
    },
  );
  expect(await at.run('installation list')).toContain('1    bot');
  expect(JSON.parse(await at.run('app key bot'))).toMatchObject({ id: 2 });
  expect(await at.run('app key bot --remove 1')).toBe('');
  expect(await at.run('app list')).toMatch(/\nbot +1 +Iv1\.[0-9a-f]{16} +Bot +1\n$/);
  const oauth = Object(JSON.parse(await at.run('oauth-app create Dash --owner alice')));
  const token = await at.run(`oauth-app token ${oauth.client_id} --user alice --scopes repo`);
  expect((await at.ask('GET', '/user', { token: token.trim() })).status).toBe(200);
  expect(await at.run('org sso acme on')).toBe('');
  const classic = (await at.run('token create --user alice --scopes repo')).trim();
  expect((await at.ask('GET', '/repos/acme/app', { token: classic })).status).toBe(403);
  expect(await at.run('token authorize 2 --user alice --org acme')).toBe('');
  expect((await at.ask('GET', '/repos/acme/app', { token: classic })).status).toBe(200);
  expect(await at.run('org sso acme maybe')).toContain('must be on or off, not "maybe"');
  expect(await at.run('org enterprise acme on')).toBe('');
  expect(await at.run('user remove alice')).toContain('owns 1 applications');
  expect(await at.run(`oauth-app remove ${oauth.client_id}`)).toBe('');
  expect(await at.run('installation remove 1')).toBe('');
  expect(await at.run('app remove bot')).toBe('');
  expect(await at.run('app list')).not.toContain('bot');
});

test('lists and removals', async () => {
  await using at = await shell();
  await at.run('user create alice');
  await at.run('user create bob');
  await at.run('org create acme --owner alice');
  expect(await at.run('org add-member acme bob --role admin')).toBe('');
  expect(await at.run('org members acme')).toBe('LOGIN   ID\nalice   1\nbob     2\n');
  await at.run('org remove-member acme bob');
  await at.run('repo create alice/one');
  expect(await at.run('repo edit alice/one --private')).toBe('');
  expect(await at.run('repo list')).toBe('FULL NAME   VISIBILITY   ID\nalice/one   private      1\n');
  expect(await at.run('user remove alice')).toContain('alice owns 1 repository');
  await at.run('repo remove alice/one');
  expect(await at.run('org list')).toBe('LOGIN   ID\nacme    3\n');
  expect(await at.run('org remove acme')).toBe('');
  expect(await at.run('user remove alice')).toBe('');
  expect(await at.run('user list')).toBe('LOGIN   ID\nbob     2\n');
});

test.each([
  ['user', 'unknown command: hub user'],
  ['user create', 'usage: berthd hub user create NAME'],
  ['user create a b', 'usage: berthd hub user create NAME'],
  ['user create a --nope', "Unknown option '--nope'"],
  ['user create a_b', 'login must be letters, digits and single hyphens between them, at most 39, not "a_b"'],
  ['user password a', 'needs --password-stdin'],
  ['org create acme', 'needs --owner'],
  ['org create acme --owner nobody', 'no such user: nobody'],
  ['repo create acme', 'must be OWNER/REPO, not "acme"'],
  ['repo create nobody/x', 'no such user or organization: nobody'],
  ['token create --user a', 'needs --scopes or --permissions, and not both'],
  [
    'token create --user a --scopes repo --expires 90',
    '--expires: must look like 90d, 12h, 30m or 60s, not "90"',
  ],
  ['token create --user a --permissions packages', 'must look like packages=write, not "packages"'],
  ['token revoke x --user a', 'no such token: x'],
])('hub %s: %s', async (line, said) => {
  await using at = await shell();
  expect(await at.run(line)).toContain(said);
});

test('passwords do not come back in errors', async () => {
  await using at = await shell();
  const said = await at.run('user create alice --password-stdin', 'hunter2\n');
  expect(said).toContain('password must have 8 characters or more');
  expect(said).not.toContain('hunter2');
});

test('nothing is kept aside on a host that was in no swarm', async () => {
  await using at = await shell();
  expect(await at.run('aside list')).toBe('SOURCE   KIND   NAME\n');
  expect(await at.run('aside restore host')).toMatch(/^error: .*nothing is kept aside as "host"/);
  expect(await at.run('aside restore')).toMatch(/usage: berthd hub aside restore SOURCE/);
});
