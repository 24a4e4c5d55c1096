import { afterEach, beforeEach, expect, test } from 'vitest';
import { needs } from '../../support/needs.ts';
import {
  failed,
  managersOf,
  NodeHosts,
  roleOf,
  settled,
  SLOW,
  wish,
} from '../../support/swarm/node-hosts.ts';
import type { TestNode } from '../../support/swarm/test-node.ts';

let hosts: NodeHosts;
beforeEach(() => {
  hosts = new NodeHosts();
});
afterEach(() => hosts[Symbol.asyncDispose]());

/** Managers come and go one after the other, each after the last one is known to all for 5 s. */
const MANY = { timeout: 150_000, interval: 100 };
const areManagers = (...of: TestNode[]): Promise<void> =>
  expect.poll(() => of.map(roleOf), MANY).toEqual(of.map(() => 'active manager'));

needs('root', 'etcd')('membership', () => {
  test('a swarm begins with one manager, and is there again after a restart', SLOW, async () => {
    const one = await hosts.first();
    const { id } = one;
    expect(one.node.info()).toMatchObject({
      NodeID: expect.stringMatching(/^[0-9a-z]{25}$/),
      NodeAddr: one.ip,
      LocalNodeState: 'active',
      ControlAvailable: true,
      Error: '',
      RemoteManagers: [{ NodeID: id, Addr: one.addr }],
    });
    const { cluster, authority } = one.manager.context;
    const tokens = await authority.tokens();
    expect(cluster.state.cluster).toMatchObject({
      subnetSize: 24,
      dataPathPort: 4789,
      addressPools: ['10.0.0.0/8'],
    });
    expect(await failed(one.node.init(one.addresses))).toMatch(
      /^unavailable: This node is already part of a swarm/,
    );
    await one.restart();
    await expect.poll(() => roleOf(one), settled).toBe('active manager');
    expect(one.id).toBe(id);
    expect(await one.manager.context.authority.tokens()).toEqual(tokens);
  });

  test('leaving: the last manager is warned, and with force nothing is left', SLOW, async () => {
    const one = await hosts.first();
    expect(await failed(one.node.leave({ force: false }))).toMatch(
      /participating as a manager. Removing the last manager erases all current state of the swarm. Use `--force`/,
    );
    await one.node.leave({ force: true });
    expect(one.tasksEnded).toBe(1);
    expect(roleOf(one)).toBe('inactive worker');
    expect(await failed(one.node.leave({ force: false }))).toBe(
      'unavailable: This node is not part of a swarm',
    );
    expect(() => one.manager).toThrow(/Use "docker swarm init" or "docker swarm join"/);
    await one.node.init(one.addresses);
    expect(roleOf(one)).toBe('active manager');
  });

  test('106, 110: a node joins by token as worker, and is none of the managers', SLOW, async () => {
    const one = await hosts.first();
    const worker = await hosts.joined(one, 'worker');
    expect(roleOf(worker)).toBe('active worker');
    expect(() => worker.manager).toThrow(/Worker nodes can't be used to view or modify cluster state/);
    expect(one.manager.context.cluster.part('nodeState', worker.id)).toMatchObject({ role: 'worker' });
    await expect
      .poll(() => worker.node.info().RemoteManagers, settled)
      .toEqual([{ NodeID: one.id, Addr: one.addr }]);
    await worker.restart();
    expect(roleOf(worker)).toBe('active worker');
    await worker.node.leave({ force: false });
    expect(worker.tasksEnded).toBe(1);
    expect(roleOf(worker)).toBe('inactive worker');
  });

  test('106: tokens that are wrong in every way; many of them are slowed down', SLOW, async () => {
    const one = await hosts.first();
    const { worker } = await one.manager.context.authority.tokens();
    const node = hosts.make();
    const tryTo = (JoinToken: string, RemoteAddrs = [one.addr]): Promise<string> =>
      failed(node.node.join({ ...node.addresses, RemoteAddrs, JoinToken }));
    expect(await tryTo('SWMTKN-1-x')).toBe('invalid_argument: invalid join token');
    expect(await tryTo(worker, [])).toBe('invalid_argument: at least 1 RemoteAddr is required to join');
    const other = worker.replace(
      /^(SWMTKN-1-)./,
      (_, head: string) => `${head}${worker[9] === '0' ? '1' : '0'}`,
    );
    expect(await tryTo(other)).toMatch(
      /^invalid_argument: remote CA does not match fingerprint. Expected: [0-9a-f]{64}$/,
    );
    const wrong = worker.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    expect(await tryTo(wrong)).toBe(
      'invalid_argument: rpc error: code = InvalidArgument desc = A valid join token is necessary to join this cluster',
    );
    expect(roleOf(node)).toBe('inactive worker');
    await node.node.join({ ...node.addresses, RemoteAddrs: [one.addr], JoinToken: worker });
    expect(roleOf(node)).toBe('active worker');
  });

  test('115: one to three managers, promoted and demoted; the leader is demoted too', SLOW, async () => {
    const one = await hosts.first();
    const two = await hosts.joined(one, 'manager');
    expect(roleOf(two)).toBe('active manager');
    const three = await hosts.joined(one, 'worker');
    await wish(one, three.id, 'manager');
    await expect.poll(() => roleOf(three), settled).toBe('active manager');
    const all = [one, two, three].map(({ id }) => `${id} reachable`).toSorted();
    await expect.poll(() => managersOf(one), settled).toEqual(all);
    await expect.poll(() => managersOf(three), settled).toEqual(all);
    await expect
      .poll(async () => (await one.manager.context.members.list()).map(({ learner }) => learner))
      .toEqual([false, false, false]);
    const leader = [one, two, three].find((node) => node.manager.leadership.leading !== undefined)!;
    const by = [one, two, three].find((node) => node !== leader)!;
    await wish(by, leader.id, 'worker');
    await expect.poll(() => roleOf(leader), settled).toBe('active worker');
    expect(await by.manager.context.members.list()).toHaveLength(2);
    await expect
      .poll(() => by.manager.context.managers.list().map(({ node }) => node))
      .not.toContain(leader.id);
    // What it knew of the store is gone.
    await expect.poll(() => leader.has('etcd')).toBe(false);
    await expect.poll(() => leader.text('node.pem').includes('KEYRING')).toBe(false);
    await wish(by, leader.id, 'manager');
    await expect.poll(() => roleOf(leader), settled).toBe('active manager');
    await leader.restart();
    await expect.poll(() => roleOf(leader), settled).toBe('active manager');
  });

  test('115: a manager that is away is demoted, then the last but one', SLOW, async () => {
    const one = await hosts.first();
    const [two, three] = [await hosts.joined(one, 'manager'), await hosts.joined(one, 'manager')];
    const away = three.id;
    await three.stop();
    await wish(one, away, 'worker');
    await expect
      .poll(() => one.manager.context.cluster.part('nodeState', away)?.role, settled)
      .toBe('worker');
    await three.restart();
    await expect.poll(() => three.has('etcd'), settled).toBe(false);
    expect(roleOf(three)).toBe('active worker');
    await wish(one, two.id, 'worker');
    await expect.poll(() => roleOf(two), settled).toBe('active worker');
    expect(managersOf(one)).toEqual([`${one.id} reachable`]);
    expect(await one.manager.context.members.list()).toHaveLength(1);
  });

  test('115: three to five managers at once, and down to one', { timeout: 600_000 }, async () => {
    const one = await hosts.first();
    const joined = [];
    for (let at = 0; at < 4; at += 1) {
      joined.push(await hosts.joined(one, 'worker'));
    }
    const [two, three, four, five] = joined as [TestNode, TestNode, TestNode, TestNode];
    const all = [one, two, three, four, five];
    await wish(one, two.id, 'manager');
    await wish(one, three.id, 'manager');
    await areManagers(one, two, three);
    await wish(one, four.id, 'manager');
    await wish(one, five.id, 'manager');
    await areManagers(...all);
    await expect
      .poll(async () => (await one.manager.context.members.list()).map(({ learner }) => learner), MANY)
      .toEqual([false, false, false, false, false]);
    await expect
      .poll(() => managersOf(five), MANY)
      .toEqual(all.map(({ id }) => `${id} reachable`).toSorted());
    for (const node of [two, three, four, five]) {
      await wish(one, node.id, 'worker');
    }
    await expect
      .poll(() => [two, three, four, five].map(roleOf), MANY)
      .toEqual(Array.from({ length: 4 }, () => 'active worker'));
    await expect.poll(async () => (await one.manager.context.members.list()).length, MANY).toBe(1);
    await expect.poll(() => managersOf(one), MANY).toEqual([`${one.id} reachable`]);
    await expect
      .poll(() => [two, three, four, five].map((node) => node.has('etcd')), MANY)
      .toEqual(Array.from({ length: 4 }, () => false));
  });

  test('a manager that leaves takes its member along: the others keep their majority', SLOW, async () => {
    const one = await hosts.first();
    const two = await hosts.joined(one, 'manager');
    expect(await failed(two.node.leave({ force: false }))).toMatch(
      /Removing this node leaves 1 managers out of 2/,
    );
    await two.node.leave({ force: true });
    await expect.poll(() => managersOf(one), settled).toEqual([`${one.id} reachable`]);
    await expect.poll(async () => (await one.manager.context.members.list()).length, settled).toBe(1);
    const again = await hosts.joined(one, 'manager');
    expect(roleOf(again)).toBe('active manager');
  });
});
