import { afterAll, beforeAll, expect, test } from 'vitest';
import { kill } from '../../support/engine/cleanup.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** Election (10 s) and two checks of five seconds that fail, beside load. */
const HANDED_OVER_MS = 90_000;
const ELECTED = 'this manager checks targets from now on';

needsEngine('docker-cli', 'etcd')('the manager that checks targets', () => {
  let swarm: TestSwarm;
  let group = '';

  beforeAll(async () => {
    const config = { hub: { address: '127.0.0.1:5010' }, cluster: { address: '127.0.0.1:6450' } };
    swarm = await TestSwarm.start(3, { config });
    await swarm.init();
    await swarm.join(2, 'manager');
    await swarm.join(3, 'manager');
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  async function ask(number: number, method: 'GET' | 'POST', path: string, body?: object) {
    return await swarm.node(number).daemon.http.ok<Record<string, unknown>>(method, `/cluster${path}`, body);
  }

  /** What a manager says of all targets: its host's name and status. */
  async function statuses(number: number): Promise<string> {
    const { items } = await ask(number, 'POST', `/targetgroups/${group}/listtargets`, {});
    return (Array.isArray(items) ? items : [])
      .map((item: unknown) => {
        const { hostname } = swarm.nodes.find(({ addr }) => addr === Object(item)['id']) ?? {};
        return `${hostname} ${Object(item)['status']}`;
      })
      .join(', ');
  }

  /** Managers that say of themselves that they check, from the first on. */
  function elected(): number[] {
    return [1, 2, 3].filter((number) => swarm.node(number).daemon.log().includes(ELECTED));
  }

  async function agreed(managers: readonly number[], expected: string): Promise<void> {
    await until(
      `all say ${expected}`,
      async () => {
        const said = await Promise.all(managers.map((number) => statuses(number).catch(() => 'nothing')));
        return said.every((one) => one === expected);
      },
      HANDED_OVER_MS,
    );
  }

  test('is one; when it is killed another one goes on, also when it is back, and all say the same', async () => {
    await until('all have the records', async () => {
      const answers = await Promise.all(
        [1, 2, 3].map((number) => swarm.node(number).daemon.http.request('GET', '/cluster/targetgroups')),
      );
      return answers.every(({ status }) => status === 200);
    });
    // The port of the managers: it is taken as long as a manager lives.
    const healthCheck = { protocol: 'TCP', healthCheckIntervalSeconds: 5, healthyThresholdCount: 2 };
    const config = { protocol: 'TCP', port: 2377, healthCheck };
    const made = await ask(2, 'POST', '/targetgroups', { name: 'managers', type: 'IP', config });
    group = String(made['id']);
    await until(
      'the group is active',
      async () => (await ask(3, 'GET', `/targetgroups/${group}`))['status'] === 'ACTIVE',
    );
    const targets = swarm.nodes.map(({ addr }) => ({ id: addr }));
    await ask(1, 'POST', `/targetgroups/${group}/registertargets`, { targets });
    const service = String((await ask(1, 'POST', '/services', { name: 'managers' }))['id']);
    const defaultAction = { forward: { targetGroups: [{ targetGroupIdentifier: group }] } };
    const listener = { name: 'main', protocol: 'TLS_PASSTHROUGH', port: 7090, defaultAction };
    await ask(1, 'POST', `/services/${service}/listeners`, listener);
    await agreed([1, 2, 3], 'n1 HEALTHY, n2 HEALTHY, n3 HEALTHY');
    const [checking = 0, ...others] = elected();
    expect(others).toEqual([]);

    kill(swarm.node(checking).daemon.pid);
    const left = [1, 2, 3].filter((number) => number !== checking);
    const expected = [1, 2, 3].map((one) => `n${one} ${one === checking ? 'UNHEALTHY' : 'HEALTHY'}`);
    await agreed(left, expected.join(', '));
    // One of the others has taken over, not both.
    expect(elected().filter((number) => number !== checking)).toHaveLength(1);

    const before = swarm.node(checking).daemon.log().split(ELECTED).length;
    await swarm.node(checking).daemon.restart();
    // It goes on with what is written, and its own port is checked by the one that took over.
    await agreed([1, 2, 3], 'n1 HEALTHY, n2 HEALTHY, n3 HEALTHY');
    expect(swarm.node(checking).daemon.log().split(ELECTED)).toHaveLength(before);
    expect(elected().filter((number) => number !== checking)).toHaveLength(1);
  });
});
