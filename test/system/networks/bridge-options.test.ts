import { afterEach, expect, test } from 'vitest';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { Neighbour } from '../../support/engine/neighbour.ts';

const CONFIG = [{ Subnet: '10.67.0.0/24', Gateway: '10.67.0.1' }, { Subnet: 'fd67::/64' }];
const OWN = { ipv4: '10.66.0.2', ipv6: 'fd66::2' };
const SECOND = { ipv4: '10.66.0.9', ipv6: 'fd66::9' };
const NAME = { 'com.docker.network.bridge.name': 'blue0' };

describeEngine('options of bridge networks', (engine) => {
  const bridge = (Options: Record<string, string>): Promise<{ Id: string }> =>
    engine.http.ok('POST', '/networks/create', {
      Name: 'blue',
      EnableIPv6: true,
      IPAM: { Config: CONFIG },
      Options: { ...NAME, ...Options },
    });
  const ask = async (id: string, to: string): Promise<string> =>
    (await engine.exec(id, ['sh', '-c', `timeout 5 nc ${to} 80 </dev/null`])).stdout;

  afterEach(async () => {
    await engine.removeAll();
    await engine.http.ok('POST', '/networks/prune');
  });

  test('host_ipv4, host_ipv6: who leaves is seen with these addresses, also after nft flush ruleset', async () => {
    using neighbour = await Neighbour.beside(engine.daemon.netns, {
      host: [OWN.ipv4, SECOND.ipv4, OWN.ipv6, SECOND.ipv6].map((address) => `${address}/${bits(address)}`),
      neighbour: ['10.66.0.1/24', 'fd66::1/64'],
    });
    neighbour.echo(80);
    const seen = async (): Promise<string[]> => {
      const id = await engine.start(['sleep', '1000'], { NetworkMode: 'blue' });
      const answers = ['', ''];
      await until('the neighbour to answer', async () => {
        answers[0] ||= await ask(id, '10.66.0.1');
        answers[1] ||= await ask(id, 'fd66::1');
        return !answers.includes('');
      });
      return answers;
    };
    await bridge({
      'com.docker.network.host_ipv4': SECOND.ipv4,
      'com.docker.network.host_ipv6': SECOND.ipv6,
    });
    expect(await seen()).toEqual([SECOND.ipv4, SECOND.ipv6]);
    await engine.daemon.netns.run('nft', 'flush', 'ruleset');
    await until('the rules to be back', async () =>
      (await engine.daemon.netns.run('nft', 'list', 'ruleset')).includes(SECOND.ipv6),
    );
    expect(await seen()).toEqual([SECOND.ipv4, SECOND.ipv6]);
    await engine.removeAll();
    await engine.http.ok('DELETE', '/networks/blue');
    expect(await engine.daemon.netns.run('nft', 'list', 'ruleset')).not.toContain(SECOND.ipv4);
    await bridge({ 'com.docker.network.host_ipv6': SECOND.ipv6 });
    expect((await seen())[1]).toBe(SECOND.ipv6);
  });

  test('inhibit_ipv4: the bridge has no IPv4 address, and its gateway is whoever has that', async () => {
    await bridge({ 'com.docker.network.bridge.inhibit_ipv4': 'true' });
    const host = (...args: string[]): Promise<string> => engine.daemon.netns.run('ip', ...args);
    expect(await host('-4', 'addr', 'show', 'dev', 'blue0')).not.toContain('inet');
    expect(await host('-6', 'addr', 'show', 'dev', 'blue0')).toContain('inet6 fd67::1/64');
    // Another router in the bridge, and a place behind it.
    using neighbour = await Neighbour.beside(engine.daemon.netns, {
      host: [],
      neighbour: ['10.67.0.1/24', '10.68.0.1/32'],
    });
    await host('link', 'set', 'eth0', 'master', 'blue0');
    neighbour.echo(80);
    const id = await engine.start(['sleep', '1000'], { NetworkMode: 'blue' });
    expect((await engine.inspect(id)).NetworkSettings.Networks['blue']).toMatchObject({
      Gateway: '10.67.0.1',
      IPAddress: '10.67.0.2',
    });
    await until('the router to answer', async () => (await ask(id, '10.68.0.1')) === '10.67.0.2');
    await engine.daemon.restart();
    expect(await host('-4', 'addr', 'show', 'dev', 'blue0')).not.toContain('inet');
    await expect.poll(() => ask(id, '10.68.0.1')).toBe('10.67.0.2');
    const { Options } = await engine.http.ok<NetworkInspect>('GET', '/networks/blue');
    expect(Options).toEqual({ ...NAME, 'com.docker.network.bridge.inhibit_ipv4': 'true' });
  });

  test('name: a bridge of the administrator keeps its addresses, and stays when the network goes', async () => {
    const host = (...args: string[]): Promise<string> => engine.daemon.netns.run('ip', ...args);
    await host('link', 'add', 'blue0', 'type', 'bridge');
    await host('addr', 'add', '10.69.0.1/24', 'dev', 'blue0');
    await host('addr', 'add', 'fd69::1/64', 'dev', 'blue0', 'nodad');
    await host('link', 'set', 'blue0', 'up');
    const addresses = async (): Promise<string[]> =>
      [...(await host('-o', 'addr', 'show', 'dev', 'blue0')).matchAll(/inet6? ((?:10|fd)\S+)/g)].map(
        ([, address = '']) => address,
      );
    // This one is the network's gateway too.
    await host('addr', 'add', '10.67.0.1/24', 'dev', 'blue0');
    const own = ['10.67.0.1/24', '10.69.0.1/24', 'fd69::1/64'];
    await bridge({});
    const both = [...own, 'fd67::1/64'].toSorted();
    expect((await addresses()).toSorted()).toEqual(both);
    await engine.start(['sleep', '1000'], { NetworkMode: 'blue' });
    await engine.daemon.restart();
    expect((await addresses()).toSorted()).toEqual(both);
    await engine.removeAll();
    await engine.http.ok('DELETE', '/networks/blue');
    expect((await addresses()).toSorted()).toEqual(own);
    await host('link', 'del', 'blue0');
  });

  const v4 = 'com.docker.network.host_ipv4';
  const v6 = 'com.docker.network.host_ipv6';
  const masquerade = 'com.docker.network.bridge.enable_ip_masquerade';
  const refused: [Record<string, string>, string][] = [
    [{ [v4]: 'fd66::9' }, `network option ${v4}: invalid value "fd66::9"`],
    [{ [v4]: '0.0.0.0' }, `network option ${v4}: invalid value "0.0.0.0"`],
    [{ [v4]: '224.0.0.1' }, `network option ${v4}: invalid value "224.0.0.1"`],
    [{ [v6]: '10.66.0.9' }, `network option ${v6}: invalid value "10.66.0.9"`],
    [{ [v6]: 'ff02::1' }, `network option ${v6}: invalid value "ff02::1"`],
    [{ [v6]: 'fd66::9' }, `network option ${v6}: fd66::9 needs EnableIPv6`],
    [{ [v4]: '10.66.0.9', [masquerade]: 'false' }, `not without masquerade: ${masquerade} is false`],
    [{ 'com.docker.network.bridge.inhibit_ipv4': 'perhaps' }, 'inhibit_ipv4: invalid value "perhaps"'],
    ...[
      'com.docker.network.bridge.gateway_mode_ipv4',
      'com.docker.network.bridge.gateway_mode_ipv6',
      'com.docker.network.bridge.trusted_host_interfaces',
      'com.docker.network.internal',
      'encrypted',
    ].map((key): [Record<string, string>, string] => [
      { [key]: 'routed' },
      `network option "${key}" is not supported by the bridge driver: "routed"`,
    ]),
  ];
  test('options: those that the engine does not know are kept and shown, also after a restart', async () => {
    const Options = {
      colour: 'red',
      'com.docker.network.bridge.nosuch': '1',
      'com.docker.network.bridge.gateway_mode_ipv4': 'nat',
      'org.example.owner': 'me',
    };
    await engine.http.ok('POST', '/networks/create', { Name: 'blue', Options });
    const shown = async (): Promise<unknown> =>
      (await engine.http.ok<NetworkInspect>('GET', '/networks/blue')).Options;
    expect(await shown()).toEqual(Options);
    await engine.daemon.restart();
    expect(await shown()).toEqual(Options);
    await engine.start(['true'], { NetworkMode: 'blue' });
  });

  test.each(refused)('%j is refused', async (Options, text) => {
    const body = { Name: 'blue', Options };
    const answer = await engine.http.request('POST', '/networks/create', { body });
    expect([answer.status, answer.json]).toEqual([400, { message: expect.stringContaining(text) }]);
    expect((await engine.http.request('GET', '/networks/blue')).status).toBe(404);
  });

  test.each([
    [
      { EnableIPv4: false, EnableIPv6: true },
      400,
      'EnableIPv4 false is not supported: networks have IPv4, always',
    ],
    [{ IPAM: { Config: [{ Subnet: 'fd67::/64' }] } }, 400, 'subnet fd67::/64 needs EnableIPv6'],
    [
      { EnableIPv6: true, IPAM: { Config: [{ Subnet: 'fd67::/64' }, { Subnet: 'fd68::/64' }] } },
      403,
      'a network has at most one subnet of each family',
    ],
    [
      { IPAM: { Config: [{ Subnet: '10.67.0.0/24', AuxiliaryAddresses: { printer: '10.67.0.1' } }] } },
      403,
      'Address already in use: 10.67.0.1',
    ],
  ])('%j is refused', async (more, status, text) => {
    const answer = await engine.http.request('POST', '/networks/create', { body: { Name: 'blue', ...more } });
    expect([answer.status, answer.json]).toEqual([status, { message: expect.stringContaining(text) }]);
  });

  test('a network that names only an IPv6 subnet has IPv4 too', async () => {
    const IPAM = { Config: [{ Subnet: 'fd67::/64' }] };
    const body = { Name: 'blue', EnableIPv4: true, EnableIPv6: true, IPAM };
    await engine.http.ok('POST', '/networks/create', body);
    const { Config } = (await engine.http.ok<NetworkInspect>('GET', '/networks/blue')).IPAM;
    expect(Config.map(({ Subnet }) => Subnet)).toEqual([expect.stringMatching(/^172|^192/), 'fd67::/64']);
  });
});

function bits(address: string): number {
  return address.includes(':') ? 64 : 24;
}
