import { armHere } from '../../support/fakes/failpoints.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EngineError } from '../../../daemon/base/errors.ts';
import { removeNetwork } from '../../../swarm/control/networks/remove.ts';
import { remove } from '../../../swarm/objects/parts.ts';
import { settled } from '../../support/fakes/manual-clock.ts';
import { AttachedSwarm } from '../../support/swarm/attached-swarm.ts';
import { networkWrite, nodeWrites } from '../../support/swarm/builders.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

let swarm: AttachedSwarm;

beforeEach(async () => {
  armHere('');
  swarm = await AttachedSwarm.start(
    ['m1', 'm2'],
    [networkWrite('a'), networkWrite('own', ['10.2.0.0/16'], { attachable: false })],
    nodeWrites('n1'),
    nodeWrites('n2'),
  );
  await swarm.startNode('n1');
  await swarm.startNode('n2');
});

afterEach(async () => {
  await swarm[Symbol.asyncDispose]();
});

const wish = (container: string, addresses: string[] = [], network = 'a') => ({
  network,
  container,
  names: [container, 'Box'],
  addresses,
});

/** What came of it, once so much time has passed. */
async function attach(node: string, asked: ReturnType<typeof wish>, ms = 1_000): Promise<string> {
  const agent = swarm.hosts.get(node)?.agent;
  let told = 'nothing yet';
  const done = agent?.networks.attach(asked, new AbortController().signal).then(
    ({ addresses }) => void (told = addresses.join(' ')),
    (error: unknown) =>
      void (told = error instanceof EngineError ? `${error.code}: ${error.message}` : String(error)),
  );
  await swarm.pass(ms);
  await settled();
  void done;
  return told;
}

async function detach(node: string, container: string, network = 'a', ms = 1_000): Promise<void> {
  const done = swarm.hosts.get(node)?.agent.networks.detach({ network, container });
  await swarm.pass(ms);
  await done;
}

const stored = (): string[] =>
  swarm.attachments
    .map(({ node, container, addresses }) => `${container}@${node} ${addresses.join(' ')}`)
    .toSorted();
/** Containers that a node's engine was told of, by their addresses. */
const known = (node: string): string[] => {
  const told = new Map<string, string>();
  for (const change of swarm.executor(node).networkChanges) {
    if (change.full) {
      told.clear();
    }
    change.endpoints.forEach((each) => told.set(each.id, each.addresses.join(' ')));
    change.removedEndpoints.forEach(({ id }) => told.delete(id));
    if (change.removedNetworks.length > 0) {
      told.clear();
    }
  }
  return [...told.values()].toSorted();
};

describe('91: a container in an attachable network', () => {
  test('gets an address, keeps it over a restart of the daemon, returns it', async () => {
    expect(await attach('n1', wish('c1'))).toBe('10.1.0.2');
    expect(stored()).toEqual(['c1@n1 10.1.0.2']);
    expect([known('n1'), known('n2')]).toEqual([['10.1.0.2'], []]);
    swarm.executor('n1').attached = [{ ...wish('c1'), addresses: ['10.1.0.2'] }];
    await swarm.startNode('n1');
    expect(stored()).toEqual(['c1@n1 10.1.0.2']);
    expect(await attach('n2', wish('c2'))).toBe('10.1.0.3');
    expect([known('n1'), known('n2')]).toEqual([
      ['10.1.0.2', '10.1.0.3'],
      ['10.1.0.2', '10.1.0.3'],
    ]);
    swarm.executor('n1').attached = [];
    await detach('n1', 'c1');
    expect(stored()).toEqual(['c2@n2 10.1.0.3']);
    expect([known('n1'), known('n2')]).toEqual([[], ['10.1.0.3']]);
  });

  test('is answered when its engine knows the network, not before', async () => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const executor = swarm.executor('n1');
    const networks = executor.networks.bind(executor);
    executor.networks = async (change) => {
      await held;
      await networks(change);
    };
    const done = swarm.hosts.get('n1')?.agent.networks.attach(wish('c1'), new AbortController().signal);
    let isDone = false;
    void done?.then(() => (isDone = true));
    await swarm.pass(1_000);
    expect([stored(), isDone]).toEqual([['c1@n1 10.1.0.2'], false]);
    release();
    await swarm.pass(0);
    expect(isDone).toBe(true);
  });

  test.each([
    ['c2', [], 'none', 'not_found', 'NotFound desc = network none not found'],
    ['c2', [], 'own', 'forbidden', 'PermissionDenied desc = network own not manually attachable'],
    [
      'c2',
      ['10.1.0.2'],
      'a',
      'forbidden',
      'FailedPrecondition desc = Address already in use: 10.1.0.2 in network a',
    ],
    [
      'c2',
      ['10.1.0.1'],
      'a',
      'forbidden',
      'FailedPrecondition desc = Address already in use: 10.1.0.1 in network a',
    ],
    [
      'c2',
      ['10.9.0.1'],
      'a',
      'invalid_argument',
      "InvalidArgument desc = invalid address 10.9.0.1: It does not belong to any of this network's subnets",
    ],
  ])('%s with %j in %s is refused: %s', async (container, addresses, network, code, text) => {
    await attach('n2', wish('c1'));
    expect(await attach('n1', wish(container, addresses, network))).toBe(
      `${code}: Could not attach to network ${network}: rpc error: code = ${text}`,
    );
    expect(stored()).toEqual(['c1@n2 10.1.0.2']);
  });

  test('has the address that it asks for, and is answered the same when it asks again', async () => {
    expect(await attach('n1', wish('c1', ['10.1.7.7']))).toBe('10.1.7.7');
    expect(await attach('n1', wish('c1'))).toBe('10.1.7.7');
    expect(await attach('n1', wish('c1', ['10.1.7.8']))).toBe('10.1.7.8');
    expect(stored()).toEqual(['c1@n1 10.1.7.8']);
  });
});

test("what the leader could not store is nobody's", async () => {
  armHere('swarm.leader.attach=error(no room)@1');
  expect(await attach('n1', wish('c1', ['10.1.0.7']))).toContain('no room');
  expect(stored()).toEqual([]);
  expect(await attach('n2', wish('c2', ['10.1.0.7']))).toBe('10.1.0.7');
});

describe('without a manager that leads', () => {
  test('a container waits for the next one', async () => {
    await swarm.end('m1');
    expect(await attach('n1', wish('c1'), 5_000)).toBe('nothing yet');
    await swarm.lead('m2');
    await swarm.pass(10_000);
    expect(stored()).toEqual(['c1@n1 10.1.0.2']);
  });

  test("it waits for 20 s, in dockerd's words, and has nothing afterwards", async () => {
    await swarm.end('m1');
    expect(await attach('n1', wish('c1'), 20_000)).toBe(
      'unavailable: Could not attach to network a: context deadline exceeded',
    );
    await swarm.lead('m2');
    await swarm.pass(20_000);
    expect(stored()).toEqual([]);
  });

  test('one that goes is gone at once, and told later', async () => {
    await attach('n1', wish('c1'));
    await swarm.end('m1');
    await detach('n1', 'c1', 'a', 0);
    expect(stored()).toEqual(['c1@n1 10.1.0.2']);
    await swarm.lead('m2');
    await swarm.pass(20_000);
    expect(stored()).toEqual([]);
  });

  test('the next leader knows what the last one gave', async () => {
    await attach('n1', wish('c1'));
    await swarm.end('m1');
    await swarm.lead('m2');
    await swarm.pass(20_000);
    expect(await attach('n2', wish('c2'))).toBe('10.1.0.3');
    expect(await attach('n1', wish('c1'))).toBe('10.1.0.2');
    expect(stored()).toEqual(['c1@n1 10.1.0.2', 'c2@n2 10.1.0.3']);
  });
});

describe('what the node tells with a session', () => {
  test('what it does not name is over, what was lost is there again', async () => {
    await attach('n1', wish('c1'));
    await attach('n2', wish('c2'));
    swarm.executor('n1').attached = [{ ...wish('c3'), addresses: ['10.1.0.9'] }];
    await swarm.startNode('n1');
    expect(stored()).toEqual(['c2@n2 10.1.0.3', 'c3@n1 10.1.0.9']);
  });

  test("an address that another has meanwhile stays the other's", async () => {
    await attach('n2', wish('c2'));
    swarm.executor('n1').attached = [{ ...wish('c3'), addresses: ['10.1.0.2'] }];
    await swarm.startNode('n1');
    expect(stored()).toEqual(['c2@n2 10.1.0.2']);
  });

  test('a container that was just let in, and its engine has not written down yet, is named', async () => {
    await attach('n1', wish('c1'));
    swarm.hosts.get('n1')?.agent.reconnect();
    await swarm.pass(1_000);
    expect(stored()).toEqual(['c1@n1 10.1.0.2']);
  });

  test('a session that breaks while a container is let in changes nothing of it', async () => {
    let cuts = 0;
    swarm.before = (method) => {
      if (method === 'networks.attach' && (cuts += 1) === 1) {
        swarm.hosts.get('n1')?.agent.reconnect();
      }
    };
    expect(await attach('n1', wish('c1'), 10_000)).toBe('10.1.0.2');
    expect([stored(), cuts]).toEqual([['c1@n1 10.1.0.2'], 2]);
  });

  test('what fails at the node is asked again', async () => {
    armHere('swarm.agent.networks.ask=error(not now)@1');
    expect(await attach('n1', wish('c1'), 5_000)).toBe('10.1.0.2');
  });
});

describe('what it is in', () => {
  test('a network with a container in it is not removed, and goes once it is out', async () => {
    await attach('n1', wish('c1'));
    const { manager } = swarm.manager('m2');
    const context = { cluster: manager.cluster, clock: swarm.rig.clock, managers: { list: () => [] } };
    const [attachment] = swarm.attachments;
    await expect(removeNetwork(context, 'a')).rejects.toThrow(
      `rpc error: code = FailedPrecondition desc = network a is in use by task ${attachment?.id}`,
    );
    await detach('n1', 'c1');
    await removeNetwork(context, 'a');
    await swarm.pass(100);
    expect(manager.cluster.state.networks.has('a')).toBe(false);
  });

  test('a node that is removed takes its containers with it, one that is down does not', async () => {
    await attach('n1', wish('c1'));
    await swarm.hosts.get('n1')?.agent[Symbol.asyncDispose]();
    await swarm.pass(60_000);
    expect(swarm.manager('m1').manager.cluster.part('nodeState', 'n1')?.state).toBe('down');
    expect(stored()).toEqual(['c1@n1 10.1.0.2']);
    await swarm
      .manager('m2')
      .manager.write(remove('node', 'n1'), remove('nodeState', 'n1'), remove('nodeDescription', 'n1'));
    await swarm.pass(100);
    expect(stored()).toEqual([]);
  });
});

test('another address of a node for overlay traffic reaches the others', async () => {
  await attach('n1', wish('c1'));
  await attach('n2', wish('c2'));
  const reached = (): string | undefined =>
    swarm
      .executor('n2')
      .networkChanges.flatMap(({ endpoints }) => endpoints)
      .findLast(({ node }) => node === 'n1')?.nodeAddr;
  expect(reached()).toBe('192.168.0.1');
  swarm.executor('n1').attached = [{ ...wish('c1'), addresses: ['10.1.0.2'] }];
  await swarm.startNode('n1', { dataAddr: '172.16.0.1' });
  expect(reached()).toBe('172.16.0.1');
  expect(swarm.executor('n1').networkChanges.at(-1)?.dataPath.addr).toBe('172.16.0.1');
});

const NAMES = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'];

/**
 * Engines that let containers in and out, as their daemons end, sessions break, questions and answers are lost and
 * managers change. Answers what was wrong on the way.
 */
async function disturb(seed: number): Promise<string[]> {
  const random = new SeededRandom(seed);
  const happens = (one: number): boolean => random.below(one) === 0;
  const wrong: string[] = [];
  const letIns = new Set<string>();
  let leader = 'm1';
  let isDeaf = false;
  swarm.before = (method, node) => {
    if (method.startsWith('networks.') && happens(8)) {
      swarm.hosts.get(node)?.agent.reconnect();
    }
    if (method.startsWith('networks.') && happens(6)) {
      throw new EngineError('unavailable', 'connection lost');
    }
  };
  swarm.after = (method, node) => {
    // A list that a session has not been told of lasts.
    if (method.startsWith('networks.') && happens(method === 'networks.attached' ? 2 : 8)) {
      swarm.hosts.get(node)?.agent.reconnect();
    }
    if (method === 'networks.attach' && (isDeaf || happens(6))) {
      throw new EngineError('unavailable', 'connection lost');
    }
  };
  const pick = (): string => `n${1 + random.below(2)}`;
  /** As a daemon that is at work for so long, unless it has ended meanwhile. */
  const later = (node: string, act: () => void): void => {
    const agent = swarm.hosts.get(node)?.agent;
    swarm.rig.clock.setTimeout(
      () => {
        if (swarm.hosts.get(node)?.agent === agent) {
          act();
        }
      },
      random.below(4) * 500,
    );
  };
  const letIn = async (node: string, container = NAMES[random.below(NAMES.length)] ?? ''): Promise<void> => {
    const agent = swarm.hosts.get(node)?.agent;
    const executor = swarm.executor(node);
    const isThere = (): boolean => executor.attached.some((each) => each.container === container);
    if (isThere() || letIns.has(`${container}@${node}`)) {
      return;
    }
    letIns.add(`${container}@${node}`);
    const asked = wish(container);
    const run = async (): Promise<void> => {
      const given = await agent?.networks.attach(asked, new AbortController().signal);
      if (given === undefined || swarm.hosts.get(node)?.agent !== agent) {
        return;
      }
      if (!known(node).includes(given.addresses.join(' '))) {
        wrong.push(`${node} was told that ${container} is in before its engine knew it`);
      }
      await new Promise<void>((resolve) => {
        later(node, () => {
          executor.attached = [...executor.attached, { ...asked, addresses: given.addresses }];
          resolve();
        });
      });
    };
    // It may come too late, or its daemon may end: then the engine has no such container.
    void run()
      .catch(() => undefined)
      .finally(() => letIns.delete(`${container}@${node}`));
    await swarm.pass(random.below(3) * 200);
  };
  const letOut = async (node: string): Promise<void> => {
    const executor = swarm.executor(node);
    const [first] = executor.attached;
    if (first !== undefined) {
      void swarm.hosts.get(node)?.agent.networks.detach(first);
      const forget = (): void => {
        executor.attached = executor.attached.filter((each) => each !== first);
      };
      // The engine has it on its disk for a moment longer.
      if (happens(2)) {
        later(node, forget);
      } else {
        forget();
        // As `docker restart` does.
        await (happens(2) ? letIn(node, first.container) : undefined);
      }
      await swarm.pass(random.below(3) * 200);
    }
  };
  const change = async (): Promise<void> => {
    await swarm.end(leader);
    await swarm.pass(random.below(2) * 30_000);
    leader = leader === 'm1' ? 'm2' : 'm1';
    await swarm.lead(leader);
  };
  for (let step = 0; step < 40; step += 1) {
    const dice = random.below(25);
    if (dice < 10) {
      await letIn(pick());
    } else if (dice < 16) {
      await letOut(pick());
    } else if (dice < 18) {
      swarm.hosts.get(pick())?.agent.reconnect();
    } else if (dice < 20) {
      await swarm.startNode(pick());
    } else if (dice < 21) {
      await change();
    } else if (dice < 23) {
      isDeaf = true;
      await letIn(pick());
      await swarm.pass(random.below(2) * 25_000);
      isDeaf = false;
    } else {
      await swarm.pass(10_000);
    }
    const { addresses } = swarm.manager(leader).manager.cluster.state;
    const twice = [...addresses.entries()].filter(({ holders }) => holders > 1);
    wrong.push(...twice.map((each) => `given twice: ${JSON.stringify(each)}`));
  }
  return wrong;
}

describe('after quiet the managers know exactly what the engines have', () => {
  test.each(Array.from({ length: 20 }, (_, index) => index + 1))('seed %i', async (seed) => {
    expect(await disturb(seed)).toEqual([]);
    swarm.before = () => undefined;
    swarm.after = () => undefined;
    for (let round = 0; round < 8; round += 1) {
      await swarm.pass(10_000);
    }
    const attached = ['n1', 'n2'].flatMap((node) =>
      swarm
        .executor(node)
        .attached.map(({ container, addresses }) => `${container}@${node} ${addresses.join(' ')}`),
    );
    expect(stored()).toEqual(attached.toSorted());
    expect(await attach('n1', wish('last'))).toMatch(/^10\.1\.0\.\d+$/);
  });
});
