import { armHere } from '../../support/fakes/failpoints.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NetworkKeys } from '../../../api/types/swarm/overlay.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { networkKeysLoop } from '../../../swarm/leader/network-keys.ts';
import { ringAt, type NetworkKeyRing } from '../../../swarm/objects/network-keys.ts';
import { put, remove, type Write } from '../../../swarm/objects/parts.ts';
import { TaskState } from '../../../swarm/objects/task-state.ts';
import { sealedKey } from '../../../swarm/objects/values.ts';
import { networkWrite, nodeWrites, serviceWrites, taskRecord } from '../../support/swarm/builders.ts';
import { dispatching, opened, type DispatchedNode } from '../../support/swarm/dispatched-node.ts';
import { SwarmRig, type ManagerRig } from '../../support/swarm/manager-rig.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const HOUR = 3_600_000;
const PERIOD = 12 * HOUR;
const KEY = sealedKey.networkKeys();

/** Seals by a word in front, as dispatchers of tests open it. */
const sealer = {
  seal: (_name: string, value: Buffer): Buffer => Buffer.concat([Buffer.from('sealed '), value]),
  open: (_name: string, sealed: Buffer): Buffer => Buffer.from(sealed.toString().replace(/^sealed /, '')),
};

function encryptedNetwork(id: string): Write {
  const plain = networkWrite(id);
  const { overlay } = plain.part === 'network' && plain.value !== null ? plain.value : {};
  if (overlay === undefined) {
    throw new Error('it is an overlay network');
  }
  return networkWrite(id, undefined, { overlay: { ...overlay, options: { encrypted: '' } } });
}

function ringOf({ cluster }: ManagerRig): NetworkKeyRing | undefined {
  const entry = cluster.value(KEY);
  return entry && (JSON.parse(sealer.open(KEY, entry.value).toString()) as NetworkKeyRing);
}

const idsOf = (ring: { keys: { id: number }[] } | undefined): number[] =>
  (ring?.keys ?? []).map(({ id }) => id);

const keysTold = (node: DispatchedNode): NetworkKeys[] =>
  node.told.flatMap((message) => (message.kind === 'networks' && message.change.keys) || []);

const task = (id: string, node: string, network: string, last: number): Write =>
  put(
    'task',
    taskRecord(id, 's1', {
      node,
      desired: TaskState.running,
      networks: [{ network, addresses: [`10.1.0.${last}`] }],
    }),
  );

describe('the ring', () => {
  const random = new SeededRandom(7);
  const at = (known: NetworkKeyRing | undefined, now: number, ...nodes: string[]): NetworkKeyRing =>
    ringAt(known, { now, nodes, random });

  test('begins with a primary key and the next, and has three from the first rotation on', () => {
    const rings = [at(undefined, 0, 'n1')];
    for (const period of [1, 2, 3]) {
      rings.push(at(rings.at(-1), period * PERIOD, 'n1'));
    }
    expect(rings.map(idsOf)).toEqual([
      [1, 2],
      [1, 2, 3],
      [2, 3, 4],
      [3, 4, 5],
    ]);
    const secrets = new Set(rings.flatMap(({ keys }) => keys.map(({ secret }) => secret)));
    expect([secrets.size, Buffer.from([...secrets][0] ?? '', 'base64').length]).toEqual([5, 32]);
  });

  test.each([
    ['just before it is due', PERIOD - 1, [1, 2]],
    ['after many periods: once, as nodes have not seen the ones between', 9 * PERIOD, [1, 2, 3]],
    ['a clock that was ahead by a day does not stop it', -2 * PERIOD, [1, 2, 3]],
    ['a clock that goes back by an hour changes nothing', -HOUR, [1, 2]],
  ])('%s', (_title, after, ids) => {
    const first = at(undefined, 10 * PERIOD, 'n1');
    expect(idsOf(at(first, 10 * PERIOD + after, 'n1'))).toEqual(ids);
  });

  test('nodes get numbers that no other ever had; where nothing is new it is the same ring', () => {
    const first = at(undefined, 0, 'n2', 'n1');
    const second = at(first, 0, 'n1', 'n3');
    const third = at(second, 0, 'n1', 'n3', 'n2');
    expect([first.numbers, second.numbers, third.numbers]).toEqual([
      { n1: 65, n2: 66 },
      { n1: 65, n3: 67 },
      { n1: 65, n3: 67, n2: 68 },
    ]);
    expect(at(third, 0, 'n1', 'n2', 'n3')).toBe(third);
  });
});

describe('the leader', () => {
  let rig: SwarmRig;

  beforeEach(() => {
    armHere('');
    rig = new SwarmRig();
  });

  afterEach(() => armHere(''));

  /** A ring of two keys whose next rotation is in half a minute. */
  async function almostDue(made: ManagerRig): Promise<NetworkKeyRing> {
    const now = Number(rig.clock.nowNano() / 1_000_000n);
    const known = ringAt(undefined, {
      now: now - PERIOD + 30_000,
      nodes: ['n1'],
      random: new SeededRandom(9),
    });
    const value = sealer.seal(KEY, Buffer.from(JSON.stringify(known)));
    await made.cluster.commit({ conditions: [], values: [{ kind: 'put', key: KEY, value }] });
    return known;
  }

  async function manager(id: string): Promise<ManagerRig> {
    const made = await rig.manager(id);
    const random = new SeededRandom(id.length);
    const loops = [networkKeysLoop({ clock: rig.clock, logger: silentLogger, random, sealer })];
    made.deps.loops = loops;
    return made;
  }

  test('makes no keys before there is an encrypted network, and none in the open', async () => {
    const one = await manager('m1');
    await one.begin(nodeWrites('n1'), [networkWrite('plain')]);
    await one.lead();
    await rig.clock.advance(120_000);
    expect(ringOf(one)).toBeUndefined();
    await one.write(encryptedNetwork('back'));
    await rig.clock.advance(100);
    expect([idsOf(ringOf(one)), ringOf(one)?.numbers]).toEqual([[1, 2], { n1: 65 }]);
    expect(one.cluster.value(KEY)?.value.toString()).toMatch(/^sealed /);
    await one.leadership?.[Symbol.asyncDispose]();
  });

  test('rotates when it is due, writes nothing before, and numbers nodes as they come', async () => {
    const one = await manager('m1');
    await one.begin(nodeWrites('n1'), [encryptedNetwork('back')]);
    const known = await almostDue(one);
    await one.lead();
    await rig.clock.advance(20_000);
    expect(ringOf(one)).toEqual(known);
    await one.write(...nodeWrites('n2'));
    await rig.clock.advance(100);
    expect(ringOf(one)).toEqual({ ...known, numbers: { n1: 65, n2: 66 }, lastNumber: 66 });
    await rig.clock.advance(90_000);
    expect(idsOf(ringOf(one))).toEqual([1, 2, 3]);
    await one.leadership?.[Symbol.asyncDispose]();
  });

  test.each(['swarm.network-keys.store', 'swarm.network-keys.stored'])(
    'one that dies at %s is followed by one that goes on from what is stored, and rotates once',
    async (step) => {
      const one = await manager('m1');
      await one.begin(nodeWrites('n1'), [encryptedNetwork('back')]);
      const before = await almostDue(one);
      await one.lead();
      armHere(`${step}=error(armed)`);
      await rig.clock.advance(65_000);
      const stored = ringOf(one);
      await one.leadership?.[Symbol.asyncDispose]();
      armHere('');
      const two = await manager('m2');
      await two.lead();
      await rig.clock.advance(90_000);
      const after = ringOf(two);
      expect([idsOf(before), idsOf(after)]).toEqual([
        [1, 2],
        [1, 2, 3],
      ]);
      // What nodes may have been told already is never taken back.
      expect(after?.keys.slice(0, stored?.keys.length)).toEqual(stored?.keys);
      await two.leadership?.[Symbol.asyncDispose]();
    },
  );

  test('one that leads no more changes nothing', async () => {
    const one = await manager('m1');
    await one.begin(nodeWrites('n1'), [encryptedNetwork('back')]);
    await one.lead();
    await rig.clock.advance(100);
    const stored = one.cluster.value(KEY)?.revision;
    await one.leadership?.[Symbol.asyncDispose]();
    await rig.clock.advance(120_000);
    expect(one.cluster.value(KEY)?.revision).toBe(stored);
  });
});

describe('nodes', () => {
  test('who has something in an encrypted network is told the keys and who else is there; others nothing', async () => {
    const rig = new SwarmRig();
    const made = await dispatching('m1', rig);
    const { manager, dispatcher } = made;
    const loop = networkKeysLoop({
      clock: rig.clock,
      logger: silentLogger,
      random: new SeededRandom(3),
      sealer,
    });
    await manager.begin(
      ...['n1', 'n2', 'n3'].map((id) => nodeWrites(id)),
      serviceWrites('s1'),
      [encryptedNetwork('back'), networkWrite('plain')],
      [task('t1', 'n1', 'back', 2), task('t3', 'n3', 'plain', 3)],
    );
    await manager.lead({ loops: [dispatcher, loop] });
    await rig.clock.advance(60);
    const [one, two, three] = await opened(made, 'n1', 'n2', 'n3');
    if (one === undefined || two === undefined || three === undefined) {
      throw new Error('there are three nodes');
    }
    expect([one, two, three].map((node) => keysTold(node).map(({ numbers }) => numbers))).toEqual([
      [{ n1: 65 }],
      [],
      [],
    ]);
    await manager.write(task('t2', 'n2', 'back', 4));
    await rig.clock.advance(250);
    expect([one, two, three].map((node) => keysTold(node).at(-1))).toEqual([
      { node: 'n1', ring: ringOf(manager)?.keys, numbers: { n1: 65, n2: 66 } },
      { node: 'n2', ring: ringOf(manager)?.keys, numbers: { n1: 65, n2: 66 } },
      undefined,
    ]);
    await manager.write(remove('task', 't2'));
    await rig.clock.advance(250);
    expect(keysTold(one).at(-1)?.numbers).toEqual({ n1: 65 });
    await manager.leadership?.[Symbol.asyncDispose]();
  });
});
