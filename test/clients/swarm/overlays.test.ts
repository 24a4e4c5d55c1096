import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NetworkInspect } from '../../../api/types/system.ts';
import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import {
  byHost,
  HEALTH,
  pages,
  RUN_MOUNTS,
  said,
  SERVICE_MOUNTS,
  tasksOf,
  type FoundTask,
} from '../../support/swarm/hosts/pages.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** One manager and two workers, driven by the docker CLI as people do. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('overlay networks on a swarm of three', () => {
  let swarm: TestSwarm;
  let client: FoundTask;

  beforeAll(async () => {
    swarm = await TestSwarm.start(3);
    await swarm.init();
    await swarm.join(2, 'worker');
    await swarm.join(3, 'worker');
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  const create = (name: string, ...options: string[]): Promise<string> =>
    swarm.must(
      1,
      'service',
      'create',
      '--name',
      name,
      '--detach=false',
      '--stop-grace-period',
      '2s',
      ...options,
    );
  const network = (node: number, ref: string): Promise<NetworkInspect> =>
    swarm.node(node).daemon.http.ok('GET', `/networks/${ref}`);
  const vipOf = async (service: string): Promise<string> => {
    const { Endpoint } = await swarm.node(1).daemon.http.ok<ServiceInspect>('GET', `/services/${service}`);
    return Endpoint?.VirtualIPs?.[0]?.Addr?.split('/')[0] ?? 'none';
  };
  const ask = (url: string, count: number): Promise<string[]> =>
    said(swarm, client, 'ask', url, String(count));

  test('network create: it has a subnet and a number, and is known where it is used', async () => {
    await swarm.must(1, 'network', 'create', '--driver', 'overlay', '--attachable', 'shop');
    const made = await network(1, 'shop');
    expect(made).toMatchObject({ Driver: 'overlay', Scope: 'swarm', Attachable: true, Ingress: false });
    expect(made.IPAM.Config[0]).toEqual({ Subnet: '10.0.1.0/24', Gateway: '10.0.1.1' });
    expect(made.Options['com.docker.network.driver.overlay.vxlanid_list']).toBe('4097');
    expect((await swarm.docker(2, 'network', 'inspect', 'shop')).code).toBe(1);
    const listed = await swarm.must(
      1,
      'network',
      'ls',
      '--filter',
      'scope=swarm',
      '--format',
      '{{.Name}} {{.Driver}}',
    );
    expect(listed.split('\n').toSorted()).toEqual(['ingress overlay', 'shop overlay']);
  });

  test('run: a container in an attachable network reaches another one on another node by its name', async () => {
    const run = (node: number, name: string): Promise<string> =>
      swarm.must(
        node,
        'run',
        '--detach',
        '--init',
        '--name',
        name,
        '--network',
        'shop',
        ...RUN_MOUNTS,
        'busybox',
        'sleep',
        '3600',
      );
    await run(2, 'left');
    await run(3, 'right');
    client = { node: 2, container: 'left' };
    const [address] = await said(swarm, client, 'look', 'right');
    expect(address).toMatch(/^10\.0\.1\.\d+$/);
    await swarm.must(2, 'exec', 'left', 'ping', '-c', '1', '-W', '5', address ?? '');
    expect(Object.values((await network(2, 'shop')).Containers).map(({ Name }) => Name)).toEqual(['left']);
    await swarm.must(3, 'rm', '--force', 'right');
    await until(
      'the name to be gone',
      async () => (await said(swarm, client, 'look', 'right'))[0] === 'unknown',
    );
  });

  test('service: its name is one address, behind which all tasks answer and see who asks', async () => {
    await create(
      'web',
      ...HEALTH,
      '--network',
      'name=shop,alias=front,driver-opt=com.docker.network.endpoint.ifname=lan7',
      '--replicas',
      '3',
      ...SERVICE_MOUNTS,
      'busybox',
      ...pages('serve', '80'),
    );
    const vip = await vipOf('web');
    expect(await said(swarm, client, 'look', 'web')).toEqual([vip]);
    expect(await said(swarm, client, 'look', 'front')).toEqual([vip]);
    const [task] = await tasksOf(swarm, 'web');
    const links = await swarm.must(task?.node ?? 0, 'exec', task?.container ?? '', 'ls', '/sys/class/net');
    expect(links.split(/\s+/)).toContain('lan7');
    const [own = ''] = await said(swarm, client, 'look', 'left');
    await until('three tasks to answer', async () => byHost(await ask('http://web/', 6)).size === 3);
    const lines = await ask('http://web/', 30);
    expect([...byHost(lines).values()]).toEqual([10, 10, 10]);
    expect(new Set(lines.map((line) => line.split(' ')[1]))).toEqual(new Set([own]));
    const [addresses = ''] = await said(swarm, client, 'look', 'tasks.web');
    expect(addresses.split(' ')).toHaveLength(3);
    expect(addresses.split(' ')).not.toContain(vip);
  });

  test('service: a task that asks its own service gets an answer each time', async () => {
    for (const task of await tasksOf(swarm, 'web')) {
      expect([...byHost(await said(swarm, task, 'ask', 'http://web/', '9')).values()]).toEqual([3, 3, 3]);
    }
  });

  test('endpoint mode dnsrr: the name is the addresses of the tasks', async () => {
    await create(
      'pool',
      '--network',
      'shop',
      '--replicas',
      '2',
      '--endpoint-mode',
      'dnsrr',
      ...SERVICE_MOUNTS,
      'busybox',
      ...pages('serve', '80'),
    );
    await until(
      'two addresses',
      async () => (await said(swarm, client, 'look', 'pool'))[0]?.split(' ').length === 2,
    );
    expect(byHost(await ask('http://pool/', 4)).size).toBeGreaterThan(0);
  });

  test('82: an update to one address, and back to dnsrr: it is given up, and no name leads to it', async () => {
    const look = async (): Promise<string> => (await said(swarm, client, 'look', 'pool'))[0] ?? '';
    const change = (mode: string): Promise<string> =>
      swarm.must(
        1,
        'service',
        'update',
        '--detach=false',
        '--update-monitor',
        '500ms',
        '--endpoint-mode',
        mode,
        'pool',
      );
    await change('vip');
    const vip = await vipOf('pool');
    expect(vip).toMatch(/^10\.0\.1\.\d+$/);
    await until('the name to be the address', async () => (await look()) === vip);
    expect(byHost(await ask('http://pool/', 4)).size).toBe(2);
    await change('dnsrr');
    await until('the name to be two addresses', async () => (await look()).split(' ').length === 2);
    expect((await look()).split(' ')).not.toContain(vip);
    expect(await vipOf('pool')).toBe('none');
    await swarm.must(1, 'service', 'rm', 'pool');
    await until(
      'the name to be gone',
      async () => (await said(swarm, client, 'look', 'pool'))[0] === 'unknown',
    );
  });

  test('rolling update under load: no request is lost, and the address stays', async () => {
    const vip = await vipOf('web');
    const loaded = said(swarm, client, 'load', 'http://web/', '/stop');
    for (const value of ['1', '2']) {
      await swarm.must(
        1,
        'service',
        'update',
        '--detach=false',
        '--env-add',
        `A=${value}`,
        '--update-monitor',
        '500ms',
        '--update-order',
        'start-first',
        'web',
      );
    }
    await swarm.must(2, 'exec', 'left', 'touch', '/stop');
    const [good = '', ...failed] = await loaded;
    expect(failed).toEqual([]);
    expect(Number.parseInt(good, 10)).toBeGreaterThan(20);
    expect(await vipOf('web')).toBe(vip);
  });

  test('without the manager: names and addresses go on, also over a kill -9 of the node', async () => {
    await swarm.node(1).daemon.kill9();
    await swarm.node(2).daemon.kill9();
    await swarm.node(2).daemon.up();
    const away = await ask('http://web/', 6);
    expect(byHost(away).size).toBeGreaterThan(1);
    await swarm.node(1).daemon.up();
    await until('the manager to answer', async () => (await swarm.docker(1, 'service', 'ls')).code === 0);
    await until('three tasks to answer', async () => byHost(await ask('http://web/', 6)).size === 3);
  });

  test('service scale to none: the address refuses at once; up again it answers', async () => {
    await swarm.must(1, 'service', 'scale', 'web=0');
    await until('a refusal', async () => (await ask('http://web/', 1))[0]?.includes('refused') === true);
    await swarm.must(1, 'service', 'scale', 'web=1');
    await until('an answer', async () => (await ask('http://web/', 1))[0]?.startsWith('failed') === false);
  });

  test('network rm: refused while it is used; then its name is free at once', async () => {
    expect((await swarm.docker(1, 'network', 'rm', 'shop')).err).toContain('is in use by');
    await swarm.must(1, 'service', 'rm', 'web');
    await swarm.must(2, 'rm', '--force', 'left');
    await until('the network to go', async () => (await swarm.docker(1, 'network', 'rm', 'shop')).code === 0);
    await swarm.must(1, 'network', 'create', '--driver', 'overlay', 'shop');
    await create('again', '--network', 'shop', ...SERVICE_MOUNTS, 'busybox', ...pages('serve', '80'));
    await swarm.must(1, 'service', 'rm', 'again');
    await until(
      'no network on the workers',
      async () => (await swarm.docker(2, 'network', 'inspect', 'shop')).code === 1,
    );
    await until('the network to go', async () => (await swarm.docker(1, 'network', 'rm', 'shop')).code === 0);
  });
});
