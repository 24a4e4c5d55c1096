import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NodeInspect } from '../../../api/types/swarm/node.ts';
import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import {
  byHost,
  pages,
  RUN_MOUNTS,
  said,
  SERVICE_MOUNTS,
  type FoundTask,
} from '../../support/swarm/hosts/pages.ts';
import { TestLan } from '../../support/swarm/hosts/test-lan.ts';
import { inUrl, TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** A manager and a worker whose hosts have addresses of IPv6 only. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('a swarm over IPv6', () => {
  let swarm: TestSwarm;
  let client: FoundTask;

  beforeAll(async () => {
    swarm = await TestSwarm.start(2, {}, new TestLan({ link: 'eth0', addresses: 'fd77::' }));
    await swarm.init();
    await swarm.join(2, 'worker');
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  const create = (name: string, ...options: string[]): Promise<string> =>
    swarm.must(
      1,
      'service',
      'create',
      '--name',
      name,
      '--mode',
      'global',
      '--stop-grace-period',
      '1s',
      ...options,
      ...SERVICE_MOUNTS,
      'busybox',
      ...pages('serve6', '80'),
    );
  const ask = (url: string, count: number): Promise<string[]> =>
    said(swarm, client, 'ask', url, String(count));
  test('nodes know each other by these addresses', async () => {
    await until('both to be ready', async () => {
      const states = await swarm.must(1, 'node', 'ls', '--format', '{{.Status}}');
      return states === 'Ready\nReady';
    });
    const nodes = await swarm.node(1).daemon.http.ok<NodeInspect[]>('GET', '/nodes');
    expect(new Set(nodes.map(({ Status }) => Status?.Addr))).toEqual(new Set(['fd77::1', 'fd77::2']));
    expect(nodes.flatMap(({ ManagerStatus }) => ManagerStatus?.Addr ?? [])).toEqual(['[fd77::1]:2377']);
  });

  test('a network of both families: names, addresses of services, tasks of both nodes', async () => {
    const subnets = ['--ipv6', '--subnet', '10.60.0.0/24', '--subnet', 'fd60::/64'];
    await swarm.must(1, 'network', 'create', '--driver', 'overlay', '--attachable', ...subnets, 'dual');
    await create('web', '--network', 'dual', '--detach=false');
    const run = ['run', '--detach', '--network', 'dual', ...RUN_MOUNTS, 'busybox', 'sleep', '3600'];
    client = { node: 2, container: await swarm.must(2, ...run) };
    const { Endpoint } = await swarm.node(1).daemon.http.ok<ServiceInspect>('GET', '/services/web');
    const [four] = await said(swarm, client, 'look', 'web');
    const [six] = await said(swarm, client, 'look6', 'web');
    expect(Endpoint?.VirtualIPs?.[0]?.Addr).toBe(`${four}/24`);
    expect(six).toMatch(/^fd60::/);
    expect((await said(swarm, client, 'look6', 'tasks.web'))[0]?.split(' ')).toHaveLength(2);
    await answeredByBoth('IPv4 over IPv6', () => ask(`http://${four}:80/`, 4));
    await answeredByBoth('IPv6 over IPv6', () => ask(`http://[${six}]:80/`, 4));
    const [own] = await said(swarm, client, 'look6', client.container.slice(0, 12));
    expect((await ask(`http://[${six}]:80/`, 1))[0]).toMatch(new RegExp(` ${own}$`));
  });

  test('a published port: at the address of each host and at ::1', async () => {
    await swarm.must(1, 'service', 'rm', 'web');
    await swarm.node(1).daemon.http.ok('DELETE', '/networks/ingress');
    const subnets = ['--ipv6', '--subnet', '10.61.0.0/24', '--subnet', 'fd61::/64'];
    await swarm.must(1, 'network', 'create', '--ingress', '--driver', 'overlay', ...subnets, 'mesh');
    await create('page', '--publish', '8300:80', '--detach=false');
    const fetched = async (node: number, url: string): Promise<string[]> => {
      const lines = [];
      for (let at = 0; at < 4; at += 1) {
        lines.push((await swarm.node(node).daemon.fetch(url)).trim() || 'failed');
      }
      return lines;
    };
    for (const { addr } of swarm.nodes) {
      const url = `http://${inUrl(addr)}:8300/`;
      await answeredByBoth(url, () => fetched(1, url));
    }
    for (const node of [1, 2]) {
      for (const url of ['http://[::1]:8300/', 'http://127.0.0.1:8300/']) {
        await answeredByBoth(`${url} on node ${node}`, () => fetched(node, url));
      }
    }
  });
});

/** Until tasks of both nodes answer there, and nobody else. */
function answeredByBoth(what: string, answers: () => Promise<string[]>): Promise<void> {
  return until(what, async () => {
    const lines = await answers();
    return lines.every((line) => !line.startsWith('failed')) && byHost(lines).size === 2;
  });
}
