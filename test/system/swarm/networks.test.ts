import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { describeEngine } from '../../support/engine/engine.ts';

/** Networks of swarm scope as one manager tells of them. */
describeEngine('networks of a swarm', (engine) => {
  beforeAll(async () => {
    await engine.http.ok('POST', '/swarm/init', { ListenAddr: '127.0.0.1:0', AdvertiseAddr: '127.0.0.1' });
  });
  afterAll(async () => {
    await engine.http.ok('POST', '/swarm/leave?force=true');
  });

  const create = (body: object): Promise<{ Id: string }> =>
    engine.http.ok('POST', '/networks/create', { Driver: 'overlay', ...body });
  const inspect = (ref: string): Promise<NetworkInspect> => engine.http.ok('GET', `/networks/${ref}`);
  const names = async (filters: object): Promise<string[]> => {
    const query = encodeURIComponent(JSON.stringify(filters));
    const list = await engine.http.ok<NetworkInspect[]>('GET', `/networks?filters=${query}`);
    return list.map(({ Name }) => Name).toSorted();
  };

  test('the ingress network is there from the start', async () => {
    expect(await inspect('ingress')).toMatchObject({
      Name: 'ingress',
      Driver: 'overlay',
      Scope: 'swarm',
      Ingress: true,
      Attachable: false,
      Internal: false,
      IPAM: { Driver: 'default', Config: [{ Subnet: '10.0.0.0/24', Gateway: '10.0.0.1' }] },
      Options: { 'com.docker.network.driver.overlay.vxlanid_list': '4096' },
    });
  });

  test('create: subnets follow one another, and those of a user are kept', async () => {
    await create({ Name: 'one' });
    await create({ Name: 'two', Attachable: true, Labels: { a: 'b' } });
    await create({ Name: 'own', IPAM: { Config: [{ Subnet: '192.168.77.0/24', Gateway: '192.168.77.9' }] } });
    expect((await inspect('one')).IPAM.Config).toEqual([{ Subnet: '10.0.1.0/24', Gateway: '10.0.1.1' }]);
    expect(await inspect('two')).toMatchObject({ Attachable: true, Labels: { a: 'b' } });
    expect((await inspect('own')).IPAM.Config).toEqual([
      { Subnet: '192.168.77.0/24', Gateway: '192.168.77.9' },
    ]);
  });

  test('list: both scopes, and each filter', async () => {
    expect(await names({ scope: ['swarm'] })).toEqual(['ingress', 'one', 'own', 'two']);
    expect(await names({ driver: ['overlay'], name: ['o'] })).toEqual(['one', 'own', 'two']);
    expect(await names({ label: ['a=b'] })).toEqual(['two']);
    expect(await names({ scope: ['local'], type: ['builtin'] })).toEqual(['bridge', 'host', 'none']);
  });

  test.each([
    ['a name that is taken', { Name: 'one' }, 409, /network with name one already exists/],
    [
      'a subnet that overlaps',
      { Name: 'x', IPAM: { Config: [{ Subnet: '10.0.1.128/25' }] } },
      400,
      /overlap/i,
    ],
    ['a second ingress network', { Name: 'x', Ingress: true }, 409, /ingress/],
    [
      'a subnet that is none',
      { Name: 'x', IPAM: { Config: [{ Subnet: '10.0.300.0/24' }] } },
      400,
      /10\.0\.300\.0/,
    ],
  ])('create: %s is refused', async (_, body, code, message) => {
    const answer = await engine.http.request('POST', '/networks/create', {
      body: { Driver: 'overlay', ...body },
    });
    // Every error body is {message}.
    expect((answer.json as { message: string }).message).toMatch(message);
    expect(answer.status).toBe(code);
  });

  test('remove: by name, by id, and its name is free again', async () => {
    const { Id } = await create({ Name: 'gone' });
    await engine.http.ok('DELETE', `/networks/${Id}`);
    expect((await engine.http.request('GET', '/networks/gone')).status).toBe(404);
    await create({ Name: 'gone' });
    await engine.http.ok('DELETE', '/networks/gone');
  });
});
