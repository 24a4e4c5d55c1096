import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
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

/** A value that can be found again, written by a manager. */
async function note(by: TestNode, text: string): Promise<void> {
  const value = Buffer.from(text);
  await by.manager.context.cluster.commit({
    conditions: [],
    values: [{ kind: 'put', key: 'test/note', value }],
  });
}

const noted = (node: TestNode): string | undefined => {
  try {
    return node.manager.context.cluster.value('test/note')?.value.toString();
  } catch {
    // It is no manager now.
    return undefined;
  }
};

async function three(): Promise<[TestNode, TestNode, TestNode]> {
  const one = await hosts.first();
  return [one, await hosts.joined(one, 'manager'), await hosts.joined(one, 'manager')];
}

needs('root', 'etcd')('managers that fail', () => {
  test('a store that is killed comes back by itself, and a daemon that starts adopts it', SLOW, async () => {
    const one = await hosts.first();
    await note(one, 'a');
    one.killStore();
    await expect.poll(() => failed(note(one, 'b')), settled).toBe('answered');
    await one.restart(() => one.killStore());
    await expect.poll(() => noted(one), settled).toBe('b');
  });

  test('116: three managers stopped together, started in another order', SLOW, async () => {
    const all = await three();
    const [one, two, last] = all;
    await note(two, 'kept');
    for (const node of all) {
      await node.stop();
    }
    await last.restart();
    expect(roleOf(last)).toBe('active worker');
    expect(() => last.manager).toThrow(/Manager is being prepared or has trouble connecting to the cluster/);
    await one.restart();
    await expect.poll(() => [one, last].map(noted), settled).toEqual(['kept', 'kept']);
    await two.restart();
    await expect.poll(() => all.map(roleOf), settled).toEqual(all.map(() => 'active manager'));
  });

  test('118: a manager whose store is gone comes back as another member', SLOW, async () => {
    const [one, two] = await three();
    await note(one, 'kept');
    const idOf = async (): Promise<string | undefined> =>
      (await one.manager.context.members.list()).find(({ name }) => name === two.id)?.id;
    const before = await idOf();
    await two.stop();
    await two.restart(() => rmSync(two.file('etcd'), { recursive: true }));
    await expect.poll(() => noted(two), settled).toBe('kept');
    expect(await idOf()).not.toBe(before);
    expect(await one.manager.context.members.list()).toHaveLength(3);
  });

  test('119: a lost majority: writes are refused in time, then one goes on alone', SLOW, async () => {
    const [one, two, last] = await three();
    const worker = await hosts.joined(one, 'worker');
    await note(one, 'kept');
    await two.stop();
    await last.stop();
    const begunMs = Date.now();
    expect(await failed(note(one, 'lost'))).toMatch(/^(unavailable|deadline_exceeded): etcd Txn/);
    expect(Date.now() - begunMs).toBeLessThan(5_500);
    expect(roleOf(one)).toBe('active manager');
    await expect
      .poll(() => managersOf(one).filter((text) => text.endsWith('unreachable')), settled)
      .toHaveLength(2);
    expect(await failed(one.node.leave({ force: false }))).toMatch(
      /Removing this node leaves 0 managers out of 3. Without a Raft quorum your swarm will be inaccessible. The only/,
    );
    expect(await one.node.init({ ForceNewCluster: true })).toBe(one.id);
    expect(noted(one)).toMatch(/kept|lost/);
    await note(one, 'alone');
    const { cluster, members } = one.manager.context;
    expect(await members.list()).toHaveLength(1);
    const others = [...cluster.state.nodes.values()].filter(({ id }) => id !== one.id);
    expect(others.map(({ record }) => record?.spec.Role)).toEqual(['worker', 'worker', 'worker']);
    expect(roleOf(worker)).toBe('active worker');
    const newcomer = await hosts.joined(one, 'manager');
    expect(noted(newcomer)).toBe('alone');
  });

  test('119: managers of before the new cluster come back as workers', SLOW, async () => {
    const [one, two, last] = await three();
    const old = two.id;
    await two.stop();
    await last.stop();
    await one.node.init({ ForceNewCluster: true });
    await expect.poll(() => one.manager.context.cluster.part('nodeState', old)?.role, settled).toBe('worker');
    await two.restart();
    await expect.poll(() => two.has('etcd'), settled).toBe(false);
    expect(roleOf(two)).toBe('active worker');
    await wish(one, old, 'manager');
    await expect.poll(() => roleOf(two), settled).toBe('active manager');
  });

  test('109: a worker whose certificate has expired says so; a manager renews its own', SLOW, async () => {
    const one = await hosts.first();
    const worker = await hosts.joined(one, 'worker');
    await one.node[Symbol.asyncDispose]();
    worker.skewMs = 100 * 86_400_000;
    await worker.restart();
    expect(worker.node.info()).toMatchObject({
      LocalNodeState: 'error',
      Error: 'Swarm certificates have expired. To replace them, leave the swarm and join again.',
    });
    const before = one.text('node.pem');
    one.skewMs = worker.skewMs;
    await one.restart();
    await expect.poll(() => roleOf(one), settled).toBe('active manager');
    await expect.poll(() => one.text('node.pem') === before, settled).toBe(false);
    await worker.node.leave({ force: false });
    const { worker: JoinToken } = await one.manager.context.authority.tokens();
    await worker.node.join({ ...worker.addresses, RemoteAddrs: [one.addr], JoinToken });
    expect(roleOf(worker)).toBe('active worker');
  });

  test(
    '109: managers whose certificates have expired: one begins a new cluster and renews its own',
    SLOW,
    async () => {
      const [one, two, last] = await three();
      await note(one, 'kept');
      const before = one.text('node.pem');
      for (const node of [one, two, last]) {
        await node.stop();
      }
      one.skewMs = 100 * 86_400_000;
      await one.restart();
      expect(await one.node.init({ ForceNewCluster: true })).toBe(one.id);
      await expect.poll(() => one.text('node.pem') === before, settled).toBe(false);
      await expect.poll(() => noted(one), settled).toBe('kept');
      await expect.poll(() => failed(note(one, 'alone')), settled).toBe('answered');
      expect(managersOf(one)).toEqual([`${one.id} reachable`]);
      // The certificate that it has now lets others in.
      const worker = hosts.make();
      worker.skewMs = one.skewMs;
      const { worker: JoinToken } = await one.manager.context.authority.tokens();
      await worker.node.join({ ...worker.addresses, RemoteAddrs: [one.addr], JoinToken });
      expect(roleOf(worker)).toBe('active worker');
    },
  );

  test('a join that nobody answers goes on, over a restart, until somebody does', SLOW, async () => {
    const one = await hosts.first();
    const { worker: JoinToken } = await one.manager.context.authority.tokens();
    await one.node[Symbol.asyncDispose]();
    const node = hosts.make();
    const joining = failed(node.node.join({ ...node.addresses, RemoteAddrs: [one.addr], JoinToken }));
    await expect
      .poll(() => node.node.info(), settled)
      .toMatchObject({
        LocalNodeState: 'pending',
        Error: expect.stringContaining('ECONNREFUSED'),
      });
    expect(await failed(node.node.init(node.addresses))).toMatch(/already part of a swarm/);
    await node.restart();
    expect(await joining).not.toBe('answered');
    expect(node.node.info().LocalNodeState).toBe('pending');
    await one.restart();
    await expect.poll(() => roleOf(node), settled).toBe('active worker');
  });

  test('a join that takes longer than 20 s says so, and goes on in the background', SLOW, async () => {
    const one = await hosts.first();
    const { worker: JoinToken } = await one.manager.context.authority.tokens();
    await one.node[Symbol.asyncDispose]();
    const node = hosts.make();
    expect(await failed(node.node.join({ ...node.addresses, RemoteAddrs: [one.addr], JoinToken }))).toBe(
      'unavailable: Timeout was reached before node joined. The attempt to join the swarm will continue in the ' +
        'background. Use the "docker info" command to see the current swarm status of your node.',
    );
    expect(node.node.info().LocalNodeState).toBe('pending');
    await one.restart();
    await expect.poll(() => roleOf(node), settled).toBe('active worker');
  });

  test('an init that fails leaves nothing behind', SLOW, async () => {
    const one = await hosts.first();
    const node = hosts.make();
    const taken = { ListenAddr: one.addr, AdvertiseAddr: one.ip };
    expect(await failed(node.node.init(taken))).toBe(
      `failed_precondition: listen tcp ${one.addr}: bind: address already in use`,
    );
    expect([node.has('node.json'), node.has('node.pem'), node.has('etcd')]).toEqual([false, false, false]);
    const [ip = '', port = ''] = one.addr.split(':');
    const besides = { ListenAddr: `${ip}:${Number(port) - 1}`, AdvertiseAddr: ip };
    expect(await failed(node.node.init(besides))).toBe(
      `failed_precondition: the store of the swarm cannot listen at ${one.addr}, the port after that of ListenAddr: ` +
        `listen EADDRINUSE: address already in use ${one.addr}`,
    );
    expect(node.has('node.json')).toBe(false);
    expect(await failed(node.node.init({ ...node.addresses, SubnetSize: 30 }))).toBe(
      'invalid_argument: subnet size is out of range: 30',
    );
    await node.node.init(node.addresses);
    expect(roleOf(node)).toBe('active manager');
  });

  test('a manager whose host has another address is found there', SLOW, async () => {
    const one = await hosts.first();
    const two = hosts.make();
    const elsewhere = hosts.make().ip;
    two.hostAddresses = [two.ip];
    const port = 20_000 + (process.pid % 10_000);
    const ListenAddr = `0.0.0.0:${port}`;
    const { manager: JoinToken } = await one.manager.context.authority.tokens();
    await two.node.join({ ListenAddr, AdvertiseAddr: '', RemoteAddrs: [one.addr], JoinToken });
    const addrOf = (): string | undefined =>
      one.manager.context.managers.list().find(({ node }) => node === two.id)?.addr;
    const urlOf = async (): Promise<string | undefined> =>
      (await one.manager.context.members.list()).find(({ name }) => name === two.id)?.peerUrls[0];
    expect(await urlOf()).toMatch(new RegExp(`:${port + 1}$`));
    await two.stop();
    two.hostAddresses = [elsewhere];
    await two.restart();
    await expect.poll(() => roleOf(two), settled).toBe('active manager');
    await expect.poll(addrOf, settled).toBe(`${elsewhere}:${port}`);
    expect(await urlOf()).toBe(`https://${elsewhere}:${port + 1}`);
    await note(two, 'moved');
    await expect.poll(() => noted(one), settled).toBe('moved');
    expect(two.node.info().NodeAddr).toBe(elsewhere);
  });

  test('a daemon that died within a demotion, a leave or an init leaves nothing of them', SLOW, async () => {
    const one = await hosts.first();
    const two = await hosts.joined(one, 'manager');
    const manager = JSON.parse(two.text('node.json')) as object;
    await wish(one, two.id, 'worker');
    await expect.poll(() => two.text('node.json').includes('"member"'), settled).toBe(false);
    await two.restart(() => {
      mkdirSync(two.file('etcd/member'), { recursive: true });
      writeFileSync(two.file('node.json'), JSON.stringify(manager));
    });
    expect([roleOf(two), two.has('etcd')]).toEqual(['active worker', false]);
    expect(two.text('node.json')).not.toContain('"member"');
    await two.restart(() =>
      writeFileSync(two.file('node.json'), JSON.stringify({ ...manager, isVoid: true })),
    );
    expect([roleOf(two), two.has('node.json'), two.has('node.pem')]).toEqual([
      'inactive worker',
      false,
      false,
    ]);
    await one.restart(() => {
      const file = JSON.parse(one.text('node.json')) as object;
      writeFileSync(one.file('node.json'), JSON.stringify({ ...file, isVoid: true }));
    });
    expect([roleOf(one), one.has('etcd')]).toEqual(['inactive worker', false]);
    await one.node.init(one.addresses);
    expect(roleOf(one)).toBe('active manager');
  });
});
