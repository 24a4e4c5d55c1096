import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NodeInspect } from '../../../api/types/swarm/node.ts';
import type { SwarmInspect } from '../../../api/types/swarm/swarm.ts';
import type { NetworkInspect } from '../../../api/types/system.ts';
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
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

const PORT = 5789;

/** Two hosts with a second link between them, for overlay traffic. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('a swarm with a data path of its own', () => {
  let swarm: TestSwarm;
  let second: TestLan;
  let client: FoundTask;

  beforeAll(async () => {
    swarm = await TestSwarm.start(2);
    second = new TestLan({ link: 'eth1', addresses: '10.88.0.' });
    for (const { daemon } of swarm.nodes) {
      await second.attach(daemon.netns);
      const rules = ['eth0', 'eth1'].map(
        (link) => `add rule inet watch in iifname ${link} udp dport ${PORT} counter`,
      );
      const chain =
        'add table inet watch; add chain inet watch in { type filter hook prerouting priority -300; }';
      await daemon.netns.run('nft', [chain, ...rules].join('; '));
    }
    await swarm.init(
      '--listen-addr',
      '10.77.0.1:0',
      '--data-path-addr',
      '10.88.0.1',
      '--data-path-port',
      String(PORT),
      '--default-addr-pool',
      '10.200.0.0/16',
      '--default-addr-pool-mask-length',
      '26',
    );
    const [first] = await nodes();
    const remote = first?.ManagerStatus?.Addr ?? '';
    await swarm.join(2, 'worker', 1, { remote, options: ['--data-path-addr', 'eth1'] });
  });
  afterAll(async () => {
    await swarm[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
  });

  const nodes = (): Promise<NodeInspect[]> => swarm.node(1).daemon.http.ok('GET', '/nodes');
  /** Packets of overlay traffic that came to a node, by link. */
  const counted = async (node: number): Promise<number[]> => {
    const listed = await swarm.node(node).daemon.netns.run('nft', 'list', 'table', 'inet', 'watch');
    return [...listed.matchAll(/packets (\d+)/g)].map(([, count]) => Number(count));
  };
  const answered = (): Promise<void> =>
    until('both tasks to answer', async () => {
      const lines = await said(swarm, client, 'ask', 'http://web:80/', '4');
      return lines.every((line) => !line.startsWith('failed')) && byHost(lines).size === 2;
    });

  test('a manager that listens at port 0 is called at the one that it got', async () => {
    const [addr] = (await nodes()).flatMap(({ ManagerStatus }) => ManagerStatus?.Addr ?? []);
    expect(Number(addr?.split(':')[1])).toBeGreaterThan(0);
    expect(await nodes()).toHaveLength(2);
  });

  test('what the swarm was given is told, and networks are of the pool', async () => {
    const { DataPathPort, DefaultAddrPool, SubnetSize } = await swarm
      .node(1)
      .daemon.http.ok<SwarmInspect>('GET', '/swarm');
    expect({ DataPathPort, DefaultAddrPool, SubnetSize }).toEqual({
      DataPathPort: PORT,
      DefaultAddrPool: ['10.200.0.0/16'],
      SubnetSize: 26,
    });
    await swarm.must(1, 'network', 'create', '--driver', 'overlay', '--attachable', 'shop');
    const { IPAM } = await swarm.node(1).daemon.http.ok<NetworkInspect>('GET', '/networks/shop');
    expect(IPAM.Config[0]?.Subnet).toMatch(/^10\.200\.0\.\d+\/26$/);
  });

  test('overlay traffic takes the second link, and that one only', async () => {
    const options = [
      '--name',
      'web',
      '--mode',
      'global',
      '--network',
      'shop',
      '--detach=false',
      ...SERVICE_MOUNTS,
    ];
    await swarm.must(1, 'service', 'create', ...options, 'busybox', ...pages('serve', '80'));
    const run = ['run', '--detach', '--network', 'shop', ...RUN_MOUNTS, 'busybox', 'sleep', '3600'];
    client = { node: 1, container: await swarm.must(1, ...run) };
    await answered();
    for (const node of [1, 2]) {
      const [ofFirst, ofSecond] = await counted(node);
      expect(ofFirst).toBe(0);
      expect(ofSecond).toBeGreaterThan(0);
    }
  });

  test('a worker shows services of its network too', async () => {
    const verbose = ['network', 'inspect', '--verbose', '--format', '{{json .Services}}', 'shop'];
    const [ofManager, ofWorker] = [await swarm.must(1, ...verbose), await swarm.must(2, ...verbose)];
    const told = JSON.parse(ofManager) as Record<string, { Tasks: { Name: string }[] }>;
    for (const each of [told, JSON.parse(ofWorker) as typeof told]) {
      each['web']?.Tasks.sort((a, b) => (a.Name < b.Name ? -1 : 1));
    }
    const sorted = JSON.parse(ofWorker) as typeof told;
    sorted['web']?.Tasks.sort((a, b) => (a.Name < b.Name ? -1 : 1));
    expect(sorted).toEqual(told);
    expect(told['web']?.Tasks).toHaveLength(2);
  });

  test('another address of the link at a restart of the daemon: the others learn it', async () => {
    const { daemon } = swarm.node(2);
    await daemon.kill9();
    await daemon.netns.run('ip', 'address', 'delete', '10.88.0.2/24', 'dev', 'eth1');
    await daemon.netns.run('ip', 'address', 'add', '10.88.0.22/24', 'dev', 'eth1');
    await daemon.up();
    await until('the new address', async () => {
      const { Peers } = await swarm.node(1).daemon.http.ok<NetworkInspect>('GET', '/networks/shop');
      return Peers?.some(({ IP }) => IP === '10.88.0.22') === true;
    });
    await answered();
    expect((await counted(1))[0]).toBe(0);
  });

  test('limits that only the host itself may raise are told in a line, without a stack', () => {
    const lines = readFileSync(swarm.node(1).daemon.paths.log, 'utf8').split('\n');
    const told = lines.filter((line) => line.includes('gc_thresh'));
    expect(told).toHaveLength(1);
    expect(told[0]).not.toContain('"stack"');
  });
});
