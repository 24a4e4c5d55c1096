import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { tasksOf, type FoundTask } from '../../support/swarm/hosts/pages.ts';
import { TestLan } from '../../support/swarm/hosts/test-lan.ts';
import { inUrl, TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** The largest frames of the switches; the hosts' own links decide. */
const JUMBO = 9000;
const LINKS = ['eth0', 'eth1', 'eth2'] as const;
/** What `ping -s` leaves out: a header of IPv4 and one of ICMP. */
const PING_HEADERS = 28;

interface Case {
  /** Of eth0, eth1 and eth2 of both hosts. */
  mtus: readonly [number, number, number];
  /** How addresses of the hosts begin by which they know each other: eth0 or, with IPv6, eth2. */
  advertise: '10.77.0.' | 'fd77::';
  /** Option of `swarm init` and `swarm join` of a host, by its number. */
  dataPath?: (number: number) => string;
}

/** Two hosts with three links between them, in one swarm after the other. */
needsEngine('docker-cli', 'etcd')('the MTU of overlay networks', () => {
  let swarm: TestSwarm;
  const others: TestLan[] = [];

  beforeAll(async () => {
    const first = new TestLan({ link: 'eth0', addresses: '10.77.0.', mtu: JUMBO });
    swarm = await TestSwarm.start(2, {}, first);
    others.push(
      new TestLan({ link: 'eth1', addresses: '10.88.0.', mtu: JUMBO }),
      new TestLan({ link: 'eth2', addresses: 'fd77::', mtu: JUMBO }),
    );
    for (const lan of others) {
      for (const { daemon } of swarm.nodes) {
        await lan.attach(daemon.netns);
      }
    }
  });
  afterEach(async () => {
    for (const number of [2, 1]) {
      await swarm.docker(number, 'swarm', 'leave', '--force');
    }
  });
  afterAll(async () => {
    await swarm[Symbol.asyncDispose]();
    await Promise.all(others.map((lan) => lan[Symbol.asyncDispose]()));
  });

  async function begin({ mtus, advertise, dataPath }: Case): Promise<void> {
    for (const { daemon } of swarm.nodes) {
      for (const [index, link] of LINKS.entries()) {
        await daemon.netns.run('ip', 'link', 'set', link, 'mtu', String(mtus[index]));
      }
    }
    const options = (number: number): string[] => [
      '--advertise-addr',
      `${advertise}${number}`,
      ...(dataPath ? ['--data-path-addr', dataPath(number)] : []),
    ];
    await swarm.init(...options(1));
    const remote = `${inUrl(`${advertise}1`)}:2377`;
    await swarm.join(2, 'worker', 1, { remote, options: options(2) });
  }

  const inside = ({ node, container }: FoundTask, command: string): Promise<string> =>
    swarm.must(node, 'exec', container, 'sh', '-c', command);

  /** The interface of a task in a network whose addresses begin with 10.50. */
  async function shopLink(task: FoundTask): Promise<{ address: string; mtu: number }> {
    const [, name = '', address = ''] =
      /^\d+: (\S+) +inet (10\.50\.[\d.]+)/m.exec(await inside(task, 'ip -o -4 address')) ?? [];
    return { address, mtu: Number(await inside(task, `cat /sys/class/net/${name}/mtu`)) };
  }

  test.each<[what: string, on: Case, mtu: number]>([
    ['IPv4 with 9000 bytes', { mtus: [9000, 1500, 1500], advertise: '10.77.0.' }, 8950],
    ['IPv4 with 1400 bytes', { mtus: [1400, 1500, 1500], advertise: '10.77.0.' }, 1350],
    ['IPv6 with 9000 bytes', { mtus: [1500, 1500, 9000], advertise: 'fd77::' }, 8930],
    ['IPv6 with 1400 bytes', { mtus: [1500, 1500, 1400], advertise: 'fd77::' }, 1330],
    [
      'a data path by address with 1400 bytes, beside 9000',
      { mtus: [9000, 1400, 9000], advertise: '10.77.0.', dataPath: (number) => `10.88.0.${number}` },
      1350,
    ],
    [
      'a data path by interface with 9000 bytes, beside 1400',
      { mtus: [1400, 9000, 1400], advertise: '10.77.0.', dataPath: () => 'eth1' },
      8950,
    ],
  ])('over %s', async (_what, on, mtu) => {
    await begin(on);
    await holds(mtu);
  });

  test('one that the user says counts, whatever the underlay has', async () => {
    await begin({ mtus: [9000, 1500, 1500], advertise: '10.77.0.' });
    await holds(1300, '--opt', 'com.docker.network.driver.mtu=1300');
  });

  /** Tasks of both hosts in a network have it, and packets that fill it come through. */
  async function holds(mtu: number, ...options: string[]): Promise<void> {
    const create = ['network', 'create', '--driver', 'overlay', '--subnet', '10.50.0.0/24'];
    await swarm.must(1, ...create, ...options, 'shop');
    const service = ['service', 'create', '--detach=false', '--name', 'web', '--mode', 'global'];
    await swarm.must(1, ...service, '--network', 'shop', 'busybox', 'sleep', '3600');
    const tasks = await tasksOf(swarm, 'web');
    expect(tasks.map(({ node }) => node)).toEqual([1, 2]);
    const links = await Promise.all(tasks.map(shopLink));
    expect(links.map((link) => link.mtu)).toEqual([mtu, mtu]);
    // A packet that fills it comes through in one piece, to the other host and back.
    for (const [index, task] of tasks.entries()) {
      const { address = '' } = links[1 - index] ?? {};
      const ping = `ping -c 1 -W 5 -s ${mtu - PING_HEADERS} ${address}`;
      await until(`an answer to ${ping}`, async () =>
        (await inside(task, `${ping} || true`)).includes('1 packets received'),
      );
    }
  }
});
