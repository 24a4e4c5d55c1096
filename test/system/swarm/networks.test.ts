import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EventMessage, NetworkInspect, NetworkPruneReport } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { jsonLines, until } from '../../support/engine/http.ts';
import { untilNow } from '../../support/engine/until-now.ts';

const query = (filters: object): string => `filters=${encodeURIComponent(JSON.stringify(filters))}`;

/** Networks of both scopes as one manager tells of them. The tests build on each other. */
describeEngine('networks of a swarm', (engine) => {
  beforeAll(async () => {
    await engine.http.ok('POST', '/swarm/init', { ListenAddr: '127.0.0.1:0', AdvertiseAddr: '127.0.0.1' });
  });
  afterAll(async () => {
    await engine.http.ok('POST', '/swarm/leave?force=true');
  });

  const status = async (method: string, path: string): Promise<number> =>
    (await engine.http.request(method, path)).status;
  const create = (body: object): Promise<{ Id: string; Warning: string }> =>
    engine.http.ok('POST', '/networks/create', { Driver: 'overlay', CheckDuplicate: true, ...body });
  const inspect = (ref: string): Promise<NetworkInspect> => engine.http.ok('GET', `/networks/${ref}`);
  const names = async (filters: object): Promise<string[]> => {
    const list = await engine.http.ok<NetworkInspect[]>('GET', `/networks?${query(filters)}`);
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
    expect((await create({ Name: 'one' })).Warning).toBe('');
    await create({ Name: 'two', Attachable: true, Labels: { a: 'b' } });
    await create({
      Name: 'own',
      IPAM: { Config: [{ Subnet: '192.168.77.0/24', Gateway: '192.168.77.9' }] },
    });
    await create({ Name: 'blue', Driver: 'bridge' });
    expect((await inspect('one')).IPAM.Config).toEqual([{ Subnet: '10.0.1.0/24', Gateway: '10.0.1.1' }]);
    expect(await inspect('two')).toMatchObject({ Attachable: true, Labels: { a: 'b' } });
    expect((await inspect('own')).IPAM.Config).toEqual([
      { Subnet: '192.168.77.0/24', Gateway: '192.168.77.9' },
    ]);
  });

  test('list: both scopes, and each filter', async () => {
    expect(await names({ scope: ['swarm'] })).toEqual(['ingress', 'one', 'own', 'two']);
    expect(await names({ driver: ['overlay'], name: ['one'] })).toEqual(['one']);
    expect(await names({ label: ['a=b'] })).toEqual(['two']);
    expect(await names({ scope: ['local'], type: ['builtin'] })).toEqual(['bridge', 'host', 'none']);
    // dockerd has one of its own for tasks, from some moment on.
    const custom = (await names({ type: ['custom'] })).filter((name) => name !== 'docker_gwbridge');
    expect(custom).toEqual(['blue', 'ingress', 'one', 'own', 'two']);
  });

  test('inspect: by name and the beginning of an id, in its scope only', async () => {
    const { Id } = await inspect('two');
    expect(await inspect(Id.slice(0, 12))).toEqual(await inspect('two'));
    const found = await Promise.all(
      ['two?scope=swarm', 'two?scope=local', 'blue?scope=local', 'blue?scope=swarm', 'two?verbose=1'].map(
        (path) => status('GET', `/networks/${path}`),
      ),
    );
    expect(found).toEqual([200, 404, 200, 404, 200]);
    const bridge = await engine.http.ok<NetworkInspect>('GET', '/networks/bridge?scope=swarm');
    expect([bridge.Name, bridge.Scope]).toEqual(['bridge', 'swarm']);
  });

  test.each([
    ['a name that is taken', { Name: 'one' }, 409, /network with name one already exists/],
    ['a name of the other scope', { Name: 'one', Driver: 'bridge' }, 409, /name one already exists/],
    ['a name of this host', { Name: 'blue' }, 409, /name blue already exists/],
    ['a second ingress network', { Name: 'x', Ingress: true }, 409, /ingress/],
    [
      'scope local',
      { Name: 'x', Scope: 'local' },
      403,
      /cannot downgrade network scope for overlay networks/,
    ],
  ])('create: %s is refused', async (_, body, code, message) => {
    const answer = await engine.http.request('POST', '/networks/create', {
      body: { Driver: 'overlay', CheckDuplicate: true, ...body },
    });
    // Every error body is {message}.
    expect((answer.json as { message: string }).message).toMatch(message);
    expect(answer.status).toBe(code);
  });

  // dockerd of that time makes the first, and never gives it a subnet; the second is 500 there.
  test.runIf(!onReference).each([
    ['overlaps', '10.0.1.128/25', 403, /overlap/],
    ['is none', '10.0.300.0/24', 400, /10\.0\.300\.0/],
  ])('create: a subnet that %s is refused', async (_, Subnet, code, message) => {
    const answer = await engine.http.request('POST', '/networks/create', {
      body: { Name: 'x', Driver: 'overlay', IPAM: { Config: [{ Subnet }] } },
    });
    // Every error body is {message}.
    expect((answer.json as { message: string }).message).toMatch(message);
    expect(answer.status).toBe(code);
  });

  test('remove: by name, by id, and its name is free again', async () => {
    const { Id } = await create({ Name: 'gone' });
    await engine.http.ok('DELETE', `/networks/${Id}`);
    expect(await status('GET', '/networks/gone')).toBe(404);
    await create({ Name: 'gone' });
    await engine.http.ok('DELETE', '/networks/gone');
  });

  test('a network that a service names is neither removed nor pruned', async () => {
    await engine.http.ok('POST', '/services/create', {
      Name: 'web',
      TaskTemplate: { ContainerSpec: { Image: 'busybox:latest' }, Networks: [{ Target: 'one' }] },
      Mode: { Replicated: { Replicas: 0 } },
    });
    expect(await status('DELETE', '/networks/one')).toBe(400);
    const { NetworksDeleted: pruned } = await engine.http.ok<NetworkPruneReport>('POST', '/networks/prune');
    expect((pruned ?? []).toSorted()).toEqual(['blue', 'own', 'two']);
    expect(await names({ driver: ['overlay'] })).toEqual(['ingress', 'one']);
    await engine.http.ok('DELETE', '/services/web');
    await engine.http.ok('DELETE', '/networks/one');
  });

  test('events: of the swarm, made and removed', async () => {
    const filters = query({ type: ['network'], scope: ['swarm'] });
    const { text } = await engine.http.request('GET', `/events?since=1&until=${untilNow()}&${filters}`);
    // What the engine has sent, as it says itself.
    const told = (jsonLines(text) as EventMessage[]).map(
      ({ Action, Actor }) => `${Action} ${JSON.stringify(Actor.Attributes)}`,
    );
    expect(told).toContain('create {"name":"two"}');
    // dockerd gives a network its subnet after it was made.
    const gone = told.filter((line) => line.includes('"gone"') && !line.startsWith('update'));
    expect(gone).toEqual([
      'create {"name":"gone"}',
      'remove {"name":"gone"}',
      'create {"name":"gone"}',
      'remove {"name":"gone"}',
    ]);
  });

  test('the ingress network is removed by name, and made anew', async () => {
    await engine.http.ok('DELETE', '/networks/ingress');
    await until('its end', async () => (await status('GET', '/networks/ingress')) === 404);
    await create({ Name: 'mesh', Ingress: true, IPAM: { Config: [{ Subnet: '10.9.0.0/24' }] } });
    expect(await inspect('mesh')).toMatchObject({ Ingress: true, Scope: 'swarm' });
  });
});
