import { describe, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import type { Granted } from '../../../../swarm/leader/attachments.ts';
import { remove } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { nameKey } from '../../../../swarm/objects/values.ts';
import type { MemoryFault } from '../../../../swarm/store/memory/faults.ts';
import { networkWrite, nodeWrites, serviceWrites } from '../../../support/swarm/builders.ts';
import { SwarmRig, type ManagerRig } from '../../../support/swarm/manager-rig.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const NEVER = new AbortController().signal;

async function leading(...subnets: string[]): Promise<ManagerRig> {
  const manager = await new SwarmRig().manager();
  await manager.begin([networkWrite('a', subnets)], nodeWrites('n1'), nodeWrites('n2'));
  await manager.lead();
  await manager.rig.clock.advance(50);
  return manager;
}

const wish = (container: string, { node = 'n1', addresses = [] as string[], network = 'a' } = {}) => ({
  node,
  network,
  container,
  names: [container],
  addresses,
});
const shown = (granted: Granted): string => ('id' in granted ? granted.addresses.join(' ') : granted.text);

/** What came of it, once so much time has passed. */
async function after<T>(manager: ManagerRig, ms: number, work: Promise<T>): Promise<T> {
  // Awaited below: until then nobody hears that it failed.
  work.catch(() => undefined);
  await manager.rig.clock.advance(ms);
  await manager.rig.clock.advance(0);
  return await Promise.race([work, Promise.reject(new Error('nothing yet'))]);
}

const attach = async (manager: ManagerRig, of: ReturnType<typeof wish>, ms = 100): Promise<string> =>
  shown(await after(manager, ms, manager.leading.attachments.attach(of, NEVER)));

const stored = (manager: ManagerRig): string[] =>
  [...manager.cluster.state.attachments.values()]
    .map(({ container, addresses }) => `${container} ${addresses.join(' ')}`)
    .toSorted();

describe('what a container is given', () => {
  test.each<[what: string, subnets: string[], addresses: string[], given: string]>([
    ['one that is free', ['10.1.0.0/16'], [], '10.1.0.2'],
    ['one of each family, IPv4 first', ['fd00::/64', '10.1.0.0/16'], [], '10.1.0.2 fd00::2'],
    ['what it asks for', ['10.1.0.0/16'], ['10.1.9.9'], '10.1.9.9'],
    ['the other family beside it', ['10.1.0.0/16', 'fd00::/64'], ['fd00:0::7'], '10.1.0.2 fd00::7'],
    ['both', ['10.1.0.0/16', 'fd00::/64'], ['fd00::7', '10.1.0.7'], '10.1.0.7 fd00::7'],
    [
      'nothing of the network itself',
      ['10.1.0.0/24'],
      ['10.1.0.255'],
      'Address already in use: 10.1.0.255 in network a',
    ],
    [
      'nothing of a family that the network has not',
      ['10.1.0.0/24'],
      ['fd00::7'],
      "invalid address fd00::7: It does not belong to any of this network's subnets",
    ],
    [
      'nothing that is no address',
      ['10.1.0.0/24'],
      ['ten'],
      "invalid address ten: It does not belong to any of this network's subnets",
    ],
    [
      'not two of one family',
      ['10.1.0.0/24'],
      ['10.1.0.7', '10.1.0.8'],
      'several addresses of one family are asked for: 10.1.0.7, 10.1.0.8',
    ],
  ])('%s', async (_what, subnets, addresses, given) => {
    expect(await attach(await leading(...subnets), wish('c1', { addresses }))).toBe(given);
  });

  test('nothing where the network is full, until one goes', async () => {
    const manager = await leading('10.1.0.0/30');
    expect(await attach(manager, wish('c1'))).toBe('10.1.0.2');
    expect(await attach(manager, wish('c2'))).toBe(
      "no available IPv4 addresses on this network's address pools: a (a)",
    );
    await after(manager, 100, manager.leading.attachments.detach('n1', wish('c1'), NEVER));
    expect(await attach(manager, wish('c2'))).toBe('10.1.0.2');
  });

  test('nothing on a node that is none of the swarm', async () => {
    expect(await attach(await leading('10.1.0.0/24'), wish('c1', { node: 'n9' }))).toBe('node n9 not found');
  });

  test("what a task has is nobody else's", async () => {
    const manager = await leading('10.1.0.0/24');
    await manager.write(
      ...serviceWrites('s', {
        TaskTemplate: { ContainerSpec: { Image: 'busybox' }, Networks: [{ Target: 'a' }] },
        Mode: { Replicated: { Replicas: 1 } },
      }),
    );
    await manager.rig.clock.advance(100);
    expect(manager.tasks('s').map(({ record }) => record.networks?.[0]?.addresses)).toEqual([['10.1.0.3']]);
    expect(await attach(manager, wish('c1', { addresses: ['10.1.0.3'] }))).toBe(
      'Address already in use: 10.1.0.3 in network a',
    );
    expect(await attach(manager, wish('c1'))).toBe('10.1.0.4');
  });
});

describe('what is written', () => {
  test("one record, once, and the network's name with it: what removes the network depends on that", async () => {
    const manager = await leading('10.1.0.0/24');
    await attach(manager, wish('c1'));
    const [id = ''] = manager.cluster.state.attachments.keys();
    const { revision } = manager.cluster.value(nameKey('network', 'a')) ?? {};
    expect(revision).toBe(manager.cluster.revisionOf('attachment', id));
    await attach(manager, wish('c1'));
    expect(manager.writesOf('attachment', id)).toBe(1);
  });

  test.each<[string, MemoryFault[], ms: number]>([
    ['something else came first', [{ kind: 'conflict' }], 2_000],
    ['the answer is lost', [{ kind: 'lost answer' }], 12_000],
    ['the answer is lost twice', [{ kind: 'lost answer' }, { kind: 'lost answer' }], 24_000],
    ['the store is away', [{ kind: 'unavailable' }, { kind: 'unavailable' }], 1_000],
  ])('where %s it is there once all the same', async (_what, faults, ms) => {
    const manager = await leading('10.1.0.0/24');
    faults.forEach((fault) => manager.faults.add('commit', fault));
    expect(await attach(manager, wish('c1', { addresses: ['10.1.0.7'] }), ms)).toBe('10.1.0.7');
    expect(stored(manager)).toEqual(['c1 10.1.0.7']);
    expect(await attach(manager, wish('c2', { addresses: ['10.1.0.7'] }))).toContain('already in use');
  });

  test('a write that comes to stand late does not bring back what has left meanwhile', async () => {
    const manager = await leading('10.1.0.0/24');
    manager.faults.add('commit', { kind: 'late', ms: 30_000 });
    expect(await attach(manager, wish('c1'), 12_000)).toBe('10.1.0.2');
    const { attachments } = manager.leading;
    await after(manager, 100, attachments.detach('n1', { network: 'a', container: 'c1' }, NEVER));
    await manager.rig.clock.advance(60_000);
    expect(stored(manager)).toEqual([]);
  });

  test('nobody waits for a store that changes all the time', async () => {
    const manager = await leading('10.1.0.0/24');
    for (let count = 0; count < limits.swarmWriteAttempts; count += 1) {
      manager.faults.add('commit', { kind: 'conflict' });
    }
    await expect(attach(manager, wish('c1'), 60_000)).rejects.toMatchObject({ code: 'unavailable' });
    expect(stored(manager)).toEqual([]);
    expect(await attach(manager, wish('c2', { addresses: ['10.1.0.2'] }))).toBe('10.1.0.2');
  });

  test('a call that nobody waits for any more is not decided on', async () => {
    const manager = await leading('10.1.0.0/24');
    const gone = new AbortController();
    const asked = manager.leading.attachments.attach(wish('c1'), gone.signal);
    gone.abort();
    await expect(after(manager, 100, asked)).rejects.toMatchObject({ code: 'canceled' });
    expect(stored(manager)).toEqual([]);
  });

  test('whoever waits when the leadership ends has to ask another manager', async () => {
    const manager = await leading('10.1.0.0/24');
    const { attachments } = manager.leading;
    for (let count = 0; count < 100; count += 1) {
      manager.faults.add('commit', { kind: 'unavailable' });
    }
    const asked = Promise.allSettled([
      attachments.attach(wish('c1'), NEVER),
      attachments.attach(wish('c2'), NEVER),
    ]);
    await manager.rig.clock.advance(1_000);
    const ended = manager.leadership?.[Symbol.asyncDispose]();
    await manager.rig.clock.advance(100);
    const refused = { status: 'rejected', reason: { code: 'failed_precondition' } };
    expect(await asked).toMatchObject([refused, refused]);
    await expect(attachments.attach(wish('c3'), NEVER)).rejects.toMatchObject(refused.reason);
    await ended;
  });

  test('a list of very many is taken in turns', async () => {
    const manager = await leading('10.1.0.0/16');
    const all = Array.from({ length: 100 }, (_, index) =>
      wish(`c${index}`, { addresses: [`10.1.1.${index + 1}`] }),
    );
    const list = (wishes: typeof all): Promise<Granted[]> =>
      after(manager, 1_000, manager.leading.attachments.attached('n1', wishes, NEVER));
    expect((await list(all)).map((granted) => shown(granted))).toEqual(
      all.flatMap(({ addresses }) => addresses),
    );
    expect(stored(manager)).toHaveLength(100);
    await list(all.slice(0, 1));
    expect(stored(manager)).toEqual(['c0 10.1.1.1']);
  });
});

/** Containers, tasks, faults and changes of the leader at random, in networks with hardly any room. */
class Oracle {
  readonly #random: SeededRandom;
  readonly #managers: ManagerRig[];
  /** What was answered, by container. */
  readonly #given = new Map<string, string>();
  #leader = 0;

  private constructor(seed: number, managers: ManagerRig[]) {
    this.#random = new SeededRandom(seed);
    this.#managers = managers;
  }

  static async start(seed: number): Promise<Oracle> {
    const rig = new SwarmRig();
    // The last one only takes what users want.
    const managers = [await rig.manager('m1'), await rig.manager('m2'), await rig.manager('m3')];
    const oracle = new Oracle(seed, managers);
    await managers[0]?.begin(
      [networkWrite('a', ['10.1.0.0/28']), networkWrite('b', ['10.2.0.0/28', 'fd00::/124'])],
      nodeWrites('n1'),
      nodeWrites('n2'),
    );
    await managers[0]?.lead();
    await rig.clock.advance(100);
    return oracle;
  }

  get manager(): ManagerRig {
    return this.#managers[this.#leader] as ManagerRig;
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      await this.#step();
      this.#check();
    }
    await this.#detachAll();
  }

  /** Everybody gives back what they have. */
  async #detachAll(): Promise<void> {
    await this.#managers[2]?.write(remove('service', 's'));
    for (const container of this.#given.keys()) {
      await this.#detach(container);
    }
    for (let round = 0; round < 5; round += 1) {
      await this.manager.rig.clock.advance(1_000);
      this.manager
        .tasks('s')
        .forEach(({ id }) => this.manager.leading.report({ id, state: TaskState.shutdown, message: '' }));
    }
    await this.manager.rig.clock.advance(10_000);
    expect([...this.manager.cluster.state.addresses.entries()]).toEqual([]);
    expect([...this.manager.leading.state.addresses.entries()]).toEqual([]);
  }

  async #step(): Promise<void> {
    const dice = this.#random.below(20);
    const container = `c${this.#random.below(12)}`;
    if (dice < 9) {
      await this.#attach(container);
    } else if (dice < 14) {
      await this.#detach(container);
    } else if (dice < 16) {
      await this.#scale(this.#random.below(6));
    } else if (dice < 17) {
      this.#fail();
    } else if (dice < 19) {
      const faults: MemoryFault['kind'][] = ['conflict', 'lost answer', 'unavailable'];
      const kind = faults[this.#random.below(3)] as 'conflict' | 'lost answer' | 'unavailable';
      this.manager.faults.add('commit', { kind });
    } else {
      await this.#change();
    }
  }

  async #attach(container: string): Promise<void> {
    const [network, prefix] = this.#random.below(2) === 0 ? ['a', '10.1.0.'] : ['b', '10.2.0.'];
    const addresses = this.#random.below(3) === 0 ? [`${prefix}${this.#random.below(16)}`] : [];
    const of = { ...wish(container, { addresses, network }), node: nodeOf(container) };
    try {
      const granted = await after(this.manager, 30_000, this.manager.leading.attachments.attach(of, NEVER));
      if ('id' in granted) {
        this.#given.set(`${network}/${container}`, granted.addresses.join(' '));
      }
    } catch (error) {
      expect(error).toMatchObject({ code: 'unavailable' });
    }
  }

  async #detach(key: string): Promise<void> {
    const [network = 'a', container = ''] = key.includes('/')
      ? key.split('/')
      : ['ab'[this.#random.below(2)], key];
    const { attachments } = this.manager.leading;
    await after(this.manager, 30_000, attachments.detach(nodeOf(container), { network, container }, NEVER));
    this.#given.delete(`${network}/${container}`);
  }

  async #scale(replicas: number): Promise<void> {
    await this.#managers[2]?.write(
      ...serviceWrites('s', {
        TaskTemplate: { ContainerSpec: { Image: 'busybox' }, Networks: [{ Target: 'a' }, { Target: 'b' }] },
        Mode: { Replicated: { Replicas: replicas } },
      }),
    );
    await this.manager.rig.clock.advance(1_000);
  }

  #fail(): void {
    const tasks = this.manager.tasks('s');
    const task = tasks[this.#random.below(Math.max(1, tasks.length))];
    if (task !== undefined) {
      this.manager.leading.report({ id: task.id, state: TaskState.failed, message: '' });
    }
  }

  async #change(): Promise<void> {
    const ended = this.manager.leadership?.[Symbol.asyncDispose]();
    await this.manager.rig.clock.advance(10_000);
    await ended;
    this.#leader = 1 - this.#leader;
    await this.manager.lead();
    await this.manager.rig.clock.advance(10_000);
  }

  #check(): void {
    const { state } = this.manager.cluster;
    expect([...state.addresses.entries()].filter(({ holders }) => holders > 1)).toEqual([]);
    const found = [...state.attachments.values()].map(
      ({ network, container, addresses }) => [`${network}/${container}`, addresses.join(' ')] as const,
    );
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(this.#given));
  }
}

function nodeOf(container: string): string {
  return `n${1 + (Number(container.slice(1)) % 2)}`;
}

describe('no address is given twice, and all are free at the end', () => {
  test.each(Array.from({ length: 40 }, (_, index) => index + 1))('seed %i', async (seed) => {
    const oracle = await Oracle.start(seed);
    await oracle.run(40);
  });
});
