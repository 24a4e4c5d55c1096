import { armHere } from '../../../support/fakes/failpoints.ts';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NetworkKeys } from '../../../../api/types/swarm/overlay.ts';
import { formatIp, parseIp } from '../../../../daemon/base/addresses/ip.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { derivedKey, encryptedPaths, spiOf } from '../../../../daemon/networks/overlay/encryption/paths.ts';
import { NetworkFiles } from '../../../../daemon/networks/overlay/network-files.ts';
import { OverlayNetworks } from '../../../../daemon/networks/overlay/overlay-networks.ts';
import { Reach } from '../../../../daemon/networks/overlay/reach/reach.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { FakeOverlayKernel } from '../../../support/fakes/overlay-kernel.ts';
import { networksChange } from '../../../support/swarm/networks.ts';
import { assignedNetwork, endpointOf } from '../../../support/swarm/overlay-objects.ts';

const secretOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const KEYS: NetworkKeys = {
  node: 'node1',
  ring: [
    { id: 4, secret: secretOf(4) },
    { id: 5, secret: secretOf(5) },
    { id: 6, secret: secretOf(6) },
  ],
  numbers: { node1: 65, node2: 66, node3: 67 },
};
const ONE = { id: 'node1', addr: '192.0.2.1' };
const TWO = { id: 'node2', addr: '192.0.2.2' };
const THREE = { id: 'node3', addr: '192.0.2.3' };
const LOCAL = parseIp(ONE.addr) ?? 0;
const TEN_MINUTES = 600_000;

describe('keys of paths', () => {
  it.each([
    [{ id: 1, secret: secretOf(1) }, ONE, TWO, '7a6a902d84db35a3b2654ac28220efc2e433a1f0'],
    [{ id: 1, secret: secretOf(1) }, TWO, ONE, '787a5a4aacad4ecc1c32dea890914c22c084f07a'],
    [{ id: 2, secret: secretOf(1) }, ONE, TWO, '33e12e722f8963635b8a788ca1abbd35a3819cd5'],
    [
      { id: 1, secret: secretOf(2) },
      ONE,
      { ...TWO, addr: '2001:db8::2' },
      'b6a4a6c67d65ce9453b13aa00eb0ee5216ef090c',
    ],
  ])('HKDF of %j from %j to %j', (key, from, to, hex) => {
    expect(derivedKey(key, from, to).toString('hex')).toBe(hex);
  });

  it('no two directions, pairs, nodes of one address or keys of a ring share a key', () => {
    const ends = [ONE, TWO, THREE, { id: 'node9', addr: TWO.addr }, { id: TWO.id, addr: '192.0.2.9' }];
    const keys = KEYS.ring.flatMap((key) =>
      ends.flatMap((from) => ends.map((to) => derivedKey(key, from, to).toString('hex'))),
    );
    expect(new Set(keys).size).toBe(3 * 5 * 5);
  });

  it('no receiver has two states of one number, whatever the ring', () => {
    const spis = [65, 66, 67].flatMap((number) => [7, 8, 9].map((id) => spiOf(number, id)));
    expect([new Set(spis).size, Math.min(...spis) > 256]).toEqual([9, true]);
  });
});

const paths = (keys: NetworkKeys, ...others: { id: string; addr: string }[]): string[] =>
  encryptedPaths(keys, LOCAL, others).map(
    ({ from, to, spi }) => `${formatIp(from)} > ${formatIp(to)}: ${spi}`,
  );

describe('paths', () => {
  it('to each other node with the primary key, from each with every key of the ring', () => {
    expect(paths(KEYS, ONE, TWO, THREE, TWO)).toEqual([
      '192.0.2.2 > 192.0.2.1: 264',
      '192.0.2.2 > 192.0.2.1: 265',
      '192.0.2.2 > 192.0.2.1: 266',
      '192.0.2.3 > 192.0.2.1: 268',
      '192.0.2.3 > 192.0.2.1: 269',
      '192.0.2.3 > 192.0.2.1: 270',
      '192.0.2.1 > 192.0.2.2: 261',
      '192.0.2.1 > 192.0.2.3: 261',
    ]);
  });

  it('what one end sends with the other end reads', () => {
    const two = parseIp(TWO.addr) ?? 0;
    const sent = encryptedPaths(KEYS, LOCAL, [TWO]).find(({ from }) => from === LOCAL);
    const read = encryptedPaths({ ...KEYS, node: 'node2' }, two, [ONE]).filter(({ to }) => to === two);
    expect(read).toContainEqual(sent);
  });

  it.each<[string, NetworkKeys, { id: string; addr: string }[], string[]]>([
    ['a node without a number', KEYS, [{ id: 'node9', addr: '192.0.2.9' }], []],
    ['a node of the other family', KEYS, [{ id: 'node2', addr: '2001:db8::2' }], []],
    ['a number that an object has by itself', KEYS, [{ id: 'toString', addr: '192.0.2.9' }], []],
    [
      'a ring of two: the first is sent with',
      { ...KEYS, ring: KEYS.ring.slice(0, 2) },
      [TWO],
      ['192.0.2.2 > 192.0.2.1: 264', '192.0.2.2 > 192.0.2.1: 265', '192.0.2.1 > 192.0.2.2: 260'],
    ],
    [
      'two nodes at one address: both are read, the later one is sent to',
      { ...KEYS, ring: KEYS.ring.slice(0, 2) },
      [THREE, { id: 'node2', addr: THREE.addr }],
      [
        '192.0.2.3 > 192.0.2.1: 268',
        '192.0.2.3 > 192.0.2.1: 269',
        '192.0.2.3 > 192.0.2.1: 264',
        '192.0.2.3 > 192.0.2.1: 265',
        '192.0.2.1 > 192.0.2.3: 260',
      ],
    ],
  ])('%s', (_title, keys, others, wanted) => {
    expect(paths(keys, ...others)).toEqual(wanted);
  });

  it('a rotation: what others send with before and after it is read all the while', () => {
    const rotated = { ...KEYS, ring: [...KEYS.ring.slice(1), { id: 7, secret: secretOf(7) }] };
    const [before, after] = [KEYS, rotated].map((keys) => encryptedPaths(keys, LOCAL, [TWO]));
    const two = parseIp(TWO.addr) ?? 0;
    for (const keys of [KEYS, rotated]) {
      const sent = encryptedPaths({ ...keys, node: 'node2' }, two, [ONE]).find(({ from }) => from === two);
      expect(before).toContainEqual(sent);
      expect(after).toContainEqual(sent);
    }
  });
});

describe('an encrypted network on a node', () => {
  const DATA_PATH = { addr: ONE.addr, port: 4789 };
  const BACK = assignedNetwork({ options: { encrypted: '' } });
  const PLAIN = assignedNetwork({ id: 'net2', name: 'front', vni: 4098 });
  const FIRST = networksChange({
    dataPath: DATA_PATH,
    networks: [BACK],
    endpoints: [endpointOf('t1', 3)],
    keys: KEYS,
  });
  let directory: string;
  let kernel: FakeOverlayKernel;
  let clock: ManualClock;
  let started: OverlayNetworks[];

  beforeEach(() => {
    armHere('');
    directory = mkdtempSync(join(tmpdir(), 'berth-test-encryption-'));
    kernel = new FakeOverlayKernel();
    clock = new ManualClock();
    started = [];
  });

  afterEach(async () => {
    await Promise.all(started.map((each) => each[Symbol.asyncDispose]()));
    rmSync(directory, { recursive: true, force: true });
  });

  async function start(): Promise<OverlayNetworks> {
    const networks = new OverlayNetworks({
      kernel,
      files: new NetworkFiles({ directory, clock: systemClock, log: silentLogger }),
      entries: { enter: () => undefined, leave: () => undefined },
      mesh: {
        apply: () => undefined,
        close: () => undefined,
        missing: () => [],
        reconsider: () => undefined,
      },
      reach: new Reach({ askedPerTurnMax: 200, unansweredMax: 3 }),
      clock,
      log: silentLogger,
    });
    started.push(networks);
    await networks.load();
    await networks.start();
    kernel.calls = [];
    return networks;
  }

  const change = (given: Parameters<typeof networksChange>[0]): ReturnType<typeof networksChange> =>
    networksChange({ dataPath: DATA_PATH, ...given });

  it('the guard, the keys, the device: in this order up, and back in the opposite one', async () => {
    const networks = await start();
    await networks.apply(FIRST);
    await networks.apply(change({ removedNetworks: ['net1'] }));
    expect(kernel.calls.filter((call) => !call.startsWith('mend'))).toEqual([
      'guard 4097 encrypted: 192.0.2.2',
      'encrypt 4',
      'open net1',
      'close net1',
      'guard nothing',
    ]);
  });

  it('beside another network its keys go with it, and the guard after them', async () => {
    const networks = await start();
    await networks.apply({ ...FIRST, networks: [BACK, PLAIN] });
    kernel.calls = [];
    await networks.apply(change({ removedNetworks: ['net1'] }));
    expect([kernel.calls, kernel.paths]).toEqual([
      ['close net1', 'stop encryption', 'guard 4098: '],
      undefined,
    ]);
  });

  it('a node more: taken and read before anything is sent to it; one that is gone is neither', async () => {
    const networks = await start();
    await networks.apply(FIRST);
    kernel.calls = [];
    await networks.apply(
      change({ endpoints: [endpointOf('t2', 4, { node: 'node3', nodeAddr: THREE.addr })] }),
    );
    await networks.apply(change({ removedEndpoints: [{ network: 'net1', id: 't2' }] }));
    expect(kernel.calls).toEqual([
      'guard 4097 encrypted: 192.0.2.2 192.0.2.3',
      'encrypt 8',
      'peers net1',
      'guard 4097 encrypted: 192.0.2.2',
      'encrypt 4',
      'peers net1',
    ]);
  });

  it('another task on a node that is known changes neither guard nor keys', async () => {
    const networks = await start();
    await networks.apply(FIRST);
    kernel.calls = [];
    await networks.apply(change({ endpoints: [endpointOf('t2', 4)] }));
    expect(kernel.calls).toEqual(['peers net1']);
  });

  it('other keys come into force without any change of a network', async () => {
    const networks = await start();
    await networks.apply(FIRST);
    const before = kernel.paths;
    kernel.calls = [];
    await networks.apply(change({ keys: { ...KEYS, ring: KEYS.ring.slice(1) } }));
    expect([kernel.calls, kernel.paths === before, networks.repairs]).toEqual([['encrypt 3'], false, 0]);
  });

  it('the next daemon leaves the keys of the kernel until managers tell of them, which no file has', async () => {
    await (await start()).apply(FIRST);
    const before = kernel.paths;
    const next = await start();
    expect([kernel.paths, next.trouble('net1')]).toEqual([before, undefined]);
    const files = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
    expect(files.join().includes(secretOf(5))).toBe(false);
    await next.apply({ ...FIRST, full: true });
    expect([kernel.paths, next.repairs]).toEqual([before, 0]);
  });

  it('a kernel that cannot encrypt: a sentence, and no device; tried again', async () => {
    kernel.failures.set('encrypt 4', 'the kernel of this node has no ESP');
    const networks = await start();
    await networks.apply({ ...FIRST, networks: [BACK, PLAIN] });
    const texts = ['net1', 'net2'].map((id) => networks.trouble(id));
    expect([texts, Object.keys(kernel.networks)]).toEqual([
      ['network back: option "encrypted": the kernel of this node has no ESP', undefined],
      ['net2'],
    ]);
    kernel.failures.clear();
    await clock.advance(500);
    expect([networks.trouble('net1'), Object.keys(kernel.networks)]).toEqual([undefined, ['net2', 'net1']]);
  });

  it('a guard that cannot be made: no device of any network', async () => {
    kernel.failures.set('guard 4097 encrypted: 192.0.2.2', 'no nftables');
    const networks = await start();
    await networks.apply(FIRST);
    expect([networks.trouble('net1'), kernel.networks]).toEqual(['no nftables', {}]);
  });

  it('keys that another program took away are put back at the next look, and counted', async () => {
    const networks = await start();
    await networks.apply(FIRST);
    const before = kernel.paths;
    kernel.paths = [];
    await clock.advance(TEN_MINUTES);
    expect([kernel.paths, networks.repairs]).toEqual([before, 4]);
  });
});
