import { afterEach, expect, test } from 'vitest';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';

const HELD = {
  Name: 'held',
  ConfigOnly: true,
  IPAM: { Config: [{ Subnet: '10.63.0.0/24', Gateway: '10.63.0.9' }] },
  Options: { 'com.docker.network.driver.mtu': '1400' },
  Labels: { a: '1' },
};

describeEngine('networks that only hold configuration, and names of interfaces', (engine) => {
  const create = (body: object): Promise<{ Id: string }> => engine.http.ok('POST', '/networks/create', body);
  const ask = async (method: string, path: string, body?: object): Promise<[number, string]> => {
    const answer = await engine.http.request(method, path, body === undefined ? {} : { body });
    return [answer.status, answer.text];
  };

  afterEach(async () => {
    await engine.removeAll();
    for (const name of ['user', 'second', 'held', 'other']) {
      await engine.http.request('DELETE', `/networks/${name}`);
    }
  });

  test('another network takes it over, and keeps it from being removed', async () => {
    await create(HELD);
    expect(await engine.http.ok<NetworkInspect>('GET', '/networks/held')).toMatchObject({
      Driver: 'null',
      ConfigOnly: true,
      ConfigFrom: { Network: '' },
      IPAM: { Config: [{ Subnet: '10.63.0.0/24', Gateway: '10.63.0.9' }] },
    });
    await create({ Name: 'user', ConfigFrom: { Network: 'held' } });
    expect(await engine.http.ok<NetworkInspect>('GET', '/networks/user')).toMatchObject({
      Driver: 'bridge',
      ConfigOnly: false,
      ConfigFrom: { Network: 'held' },
      IPAM: { Config: [{ Subnet: '10.63.0.0/24', Gateway: '10.63.0.9' }] },
      Options: { 'com.docker.network.driver.mtu': '1400' },
      Labels: { a: '1' },
    });
    const { stdout } = await engine.run(['sh', '-c', 'cat /sys/class/net/eth0/mtu; ip route'], {
      NetworkMode: 'user',
    });
    expect(stdout).toMatch(/^1400\ndefault via 10\.63\.0\.9 /);
    expect(await ask('DELETE', '/networks/held')).toEqual([403, expect.stringMatching(/held.* is in use/)]);
    // A container that is to be in a network keeps it, whether it runs or not.
    await engine.removeAll();
    await engine.http.ok('POST', '/networks/prune');
    if (!onReference) {
      await engine.daemon.restart();
    }
    expect((await ask('GET', '/networks/user'))[0]).toBe(404);
    expect(await engine.http.ok('GET', '/networks/held')).toMatchObject({ ConfigOnly: true });
    await engine.http.ok('DELETE', '/networks/held');
  });

  test('its subnets are in nobody’s way', async () => {
    await create(HELD);
    await create({ Name: 'other', IPAM: HELD.IPAM });
    expect(await ask('POST', '/networks/create', { Name: 'user', ConfigFrom: { Network: 'held' } })).toEqual([
      403,
      expect.stringMatching(/overlaps/),
    ]);
  });

  test.each([
    [{ ConfigOnly: true, Internal: true }, 403, /Network operator fields/],
    [{ ConfigOnly: true, Attachable: true }, 403, /Network operator fields/],
    [{ ConfigOnly: true, ConfigFrom: { Network: 'held' } }, 403, /cannot depend on another/],
    [{ ConfigFrom: { Network: 'nobody' } }, 404, /configuration network "?nobody"? does not exist|nobody/],
    [{ ConfigFrom: { Network: 'held' }, Labels: { b: '2' } }, 403, /user specified configurations/],
    [
      { ConfigFrom: { Network: 'held' }, IPAM: { Config: [{ Subnet: '10.64.0.0/24' }] } },
      403,
      /user specified configurations/,
    ],
  ])('%j is refused', async (more, status, text) => {
    await create(HELD);
    expect(await ask('POST', '/networks/create', { Name: 'user', ...more })).toEqual([
      status,
      expect.stringMatching(text),
    ]);
  });

  test('no container can be in it', async () => {
    await create(HELD);
    const id = await engine.start(['sleep', '1000'], { NetworkMode: 'bridge' });
    expect(await ask('POST', '/networks/held/connect', { Container: id })).toEqual([
      403,
      expect.stringContaining('cannot create endpoint on configuration-only network'),
    ]);
    const body = { Image: 'busybox', Cmd: ['true'], HostConfig: { NetworkMode: 'held' } };
    const made = await engine.http.request('POST', '/containers/create', { body });
    const refused =
      made.status === 201
        ? await engine.http.request('POST', `/containers/${JSON.parse(made.text).Id}/start`)
        : made;
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining('cannot create endpoint on configuration-only network'),
    ]);
  });

  test('container_iface_prefix: interfaces are named so, and numbered by name', async () => {
    const options = { 'com.docker.network.container_iface_prefix': 'net' };
    await create({ Name: 'user', Options: options });
    await create({ Name: 'second', Options: options });
    await create({ Name: 'other' });
    const id = await engine.start(['sleep', '1000'], { NetworkMode: 'user' });
    await engine.http.ok('POST', '/networks/second/connect', { Container: id });
    await engine.http.ok('POST', '/networks/other/connect', { Container: id });
    const { stdout } = await engine.exec(id, ['ls', '/sys/class/net']);
    expect(stdout.split('\n').filter((name) => /^(eth|net)/.test(name))).toEqual(['eth0', 'net0', 'net1']);
    await engine.http.ok('POST', '/networks/user/disconnect', { Container: id });
    await engine.http.ok('POST', `/containers/${id}/restart?t=0`);
    expect((await engine.exec(id, ['ip', 'route'])).stdout).toMatch(/default via .* dev (eth0|net0)/);
  });

  test.skipIf(onReference).each(['', '1net', 'name-too-long', 'a/b', '..'])(
    'container_iface_prefix: %j is refused',
    async (prefix) => {
      const Options = { 'com.docker.network.container_iface_prefix': prefix };
      expect(await ask('POST', '/networks/create', { Name: 'user', Options })).toEqual([
        400,
        expect.stringContaining('container_iface_prefix'),
      ]);
    },
  );
});
