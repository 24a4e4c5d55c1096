import { expect, test } from 'vitest';
import { runHubCommand } from '../../../../daemon/boot/hub/run-command.ts';
import { peopledHub } from '../../../support/hub/open-hub.ts';
import { serveHub } from '../../../support/hub/serve-hub.ts';

test('a headless machine: application, service token, consent, exchange', async () => {
  using open = await peopledHub();
  await using server = await serveHub(open);
  const run = async (line: string): Promise<string> => {
    let printed = '';
    await runHubCommand([...line.split(' '), '--host', `unix://${server.socketPath}`], {
      readInput: () => '',
      write: (text) => (printed += text),
      loadConfig: () => {
        throw new Error('not needed');
      },
    });
    return printed;
  };
  const redirect = 'http://127.0.0.1:9999/back';
  // As it is printed.
  const app = JSON.parse(
    await run(`app create --org acme --name CI --domain http://127.0.0.1:9999 --redirect ${redirect}`),
  ) as Record<string, string>;
  const { id = '', client_id: clientId = '', client_secret: clientSecret = '' } = app;
  expect(id).toMatch(/^[a-z0-9]{12}$/);
  const accesses = 'read_oauth_applications,write_oauth_tokens,read_oauth_tokens';
  // As above.
  const service = JSON.parse(await run(`service-token create --org acme --accesses ${accesses}`)) as {
    id: string;
    token: string;
  };
  const to = await run(`authorize --user alice --client-id ${clientId} --redirect ${redirect} --state xyz`);
  const { searchParams } = new URL(to.trim());
  expect([to.startsWith(`${redirect}?code=`), searchParams.get('state')]).toEqual([true, 'xyz']);
  const query = new URLSearchParams({
    client_id: clientId,
    client_secret: clientSecret,
    code: searchParams.get('code') ?? '',
    grant_type: 'authorization_code',
    redirect_uri: redirect,
  });
  const answer = await server.ask(
    'POST',
    `/v1/organizations/acme/oauth-applications/${id}/token?${String(query)}`,
    {
      headers: { Authorization: `${service.id}:${service.token}` },
    },
  );
  expect(answer).toMatchObject({ status: 200, body: { actor_display_name: 'alice' } });
  expect(JSON.parse(await run('app list-oauth --org acme'))).toMatchObject({ data: [{ id, tokens: 1 }] });
  // As it is printed.
  const renewed = JSON.parse(await run(`app renew-oauth ${id} --org acme`)) as Record<string, string>;
  expect([renewed['id'], renewed['client_secret'] === clientSecret]).toEqual([id, false]);
  await expect(run('app renew-oauth aaaaaaaaaaaa --org acme')).rejects.toThrow('no such OAuth application');
  await expect(run(`app renew-oauth ${id}`)).rejects.toThrow('--org');
  expect(JSON.parse(await run('service-token list --org acme'))).toMatchObject({
    data: [{ id: service.id }],
  });
  const site = `--name CI --domain http://127.0.0.1:9999 --redirect ${redirect}`;
  for (const [line, problem] of [
    [`app create --org nobody ${site}`, 'nobody'],
    [`app create --org acme ${site} --scopes ,`, 'scopes: must name one at least'],
    [`app create --org acme ${site} --scopes branch:no_such`, 'scopes.branch: must be of'],
    [`app create --org acme ${site} --scopes nonsense`, '--scopes: must look like'],
    [`app create --org acme ${site} --avatar /dev/null`, 'avatar: must be a PNG'],
    [
      `app create --org acme --name CI --domain 127.0.0.1 --redirect ${redirect}`,
      'domain: must be an address',
    ],
    [`app create --org acme --name CI --redirect ${redirect}`, 'needs --domain'],
    ['service-token create --org nobody --accesses read_oauth_tokens', 'nobody'],
    ['service-token create --org acme', 'needs --accesses'],
    ['service-token create --org acme --accesses root', 'accesses: must be of'],
    [
      'service-token create --org acme --accesses read_oauth_tokens --expires soon',
      '--expires: must look like',
    ],
    [
      'service-token create --org acme --accesses read_oauth_tokens --expires 9999999w',
      'ttl: must be a number',
    ],
    [`authorize --user nobody --client-id ${clientId} --redirect ${redirect}`, 'no such user: nobody'],
    [`authorize --user alice --client-id x --redirect ${redirect}`, 'client_id is unknown'],
    [`authorize --user alice --client-id ${clientId}`, 'needs --redirect'],
    [
      `authorize --user alice --client-id ${clientId} --redirect ${redirect} --organizations x`,
      'organizations',
    ],
  ] as const) {
    await expect(run(line)).rejects.toThrow(problem);
  }
  expect(await run(`service-token remove ${service.id} --org acme`)).toBe('');
  expect(await run(`app remove-oauth ${id} --org acme`)).toBe('');
  await expect(run('app create X --org acme')).rejects.toThrow('NAME does not go with --org');
  await expect(run('app create --owner alice')).rejects.toThrow('needs NAME');
  await expect(run('app create X --owner alice --domain http://x')).rejects.toThrow(
    '--domain goes with --org',
  );
  await expect(
    run(`authorize --user alice --client-id ${clientId} --redirect http://evil.test/`),
  ).rejects.toThrow('unknown');
});
