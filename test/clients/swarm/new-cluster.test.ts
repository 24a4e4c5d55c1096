import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import { killProcessesNaming } from '../../support/engine/cleanup.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { byHost, pages, SERVICE_MOUNTS } from '../../support/swarm/hosts/pages.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** Two managers and a worker. The tests build on each other. */
needsEngine('docker-cli', 'etcd')('a swarm that has lost its majority', () => {
  let swarm: TestSwarm;

  beforeAll(async () => {
    swarm = await TestSwarm.start(3);
    await swarm.init();
    await swarm.join(2, 'manager');
    await swarm.join(3, 'worker');
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  const web = (): Promise<ServiceInspect> => swarm.node(1).daemon.http.ok('GET', '/services/web');
  /** Containers of tasks on the two hosts that are left. */
  const containers = (): Promise<string[]> =>
    Promise.all([1, 3].map((node) => swarm.must(node, 'ps', '--quiet', '--filter', 'is-task=true')));
  /** What answers at the published port of a node. */
  const answer = async (node: number): Promise<string> => {
    const said = await swarm.node(1).daemon.fetch(`http://${swarm.node(node).addr}:8080/`);
    return said.trim() || 'failed';
  };
  const bothAnswer = (node: number): Promise<void> =>
    until(`both tasks through n${node}`, async () => {
      const answers = [await answer(node), await answer(node), await answer(node), await answer(node)];
      return answers.every((text) => !text.startsWith('failed')) && byHost(answers).size === 2;
    });

  test('119: init --force-new-cluster: services, ports, addresses and tasks are there', async () => {
    await swarm.must(1, 'network', 'create', '--driver', 'overlay', 'shop');
    const places = ['--constraint', 'node.hostname!=n2', '--replicas', '2', '--network', 'shop'];
    const create = ['service', 'create', '--detach=false', '--name', 'web', '--publish', '8080:80'];
    await swarm.must(1, ...create, ...places, ...SERVICE_MOUNTS, 'busybox', ...pages('serve', '80'));
    await bothAnswer(3);
    const [before, tasks] = [await web(), await containers()];
    expect(before.Endpoint?.VirtualIPs).toHaveLength(2);

    const { daemon } = swarm.node(2);
    await daemon.kill9();
    killProcessesNaming(`--data-dir=${daemon.paths.root}`);
    await until('the loss to be told', async () =>
      (await swarm.docker(1, 'service', 'scale', '--detach', 'web=3')).err.includes(
        'The swarm does not have a leader.',
      ),
    );
    await swarm.must(1, 'swarm', 'init', '--force-new-cluster', '--advertise-addr', swarm.node(1).addr);
    await until('the service', async () => (await swarm.docker(1, 'service', 'inspect', 'web')).code === 0);
    const after = await web();
    expect([after.ID, after.Endpoint]).toEqual([before.ID, before.Endpoint]);
    await bothAnswer(3);
    await bothAnswer(1);
    expect(await containers()).toEqual(tasks);
  });

  test('119: what is asked for afterwards gets other addresses and ports', async () => {
    const options = ['--detach', '--name', 'more', '--network', 'shop', '--publish', 'target=80'];
    const taken = await swarm.docker(1, 'service', 'create', '--publish', '8080:80', 'busybox');
    expect(taken.err).toContain("port '8080' is already in use by service 'web'");
    await swarm.must(1, 'service', 'create', ...options, 'busybox', 'sleep', '3600');
    const addressesOf = async (service: string): Promise<string[]> => {
      const { Endpoint } = await swarm.node(1).daemon.http.ok<ServiceInspect>('GET', `/services/${service}`);
      return (Endpoint?.VirtualIPs ?? []).flatMap(({ Addr }) => Addr ?? []);
    };
    await until('its addresses', async () => (await addressesOf('more')).length === 2);
    const [first, second] = [await addressesOf('web'), await addressesOf('more')];
    expect(second.filter((address) => first.includes(address))).toEqual([]);
    await swarm.must(1, 'service', 'scale', '--detach=false', 'web=3');
  });
});
