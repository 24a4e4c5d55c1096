import { armHere } from '../../../support/fakes/failpoints.ts';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatIp, parseIp } from '../../../../daemon/base/addresses/ip.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { NetworkFiles } from '../../../../daemon/networks/overlay/network-files.ts';
import { Mesh } from '../../../../daemon/networks/overlay/mesh/mesh.ts';
import { SwarmEntries } from '../../../../daemon/networks/overlay/swarm-entries.ts';
import type { NetworkIndex } from '../../../../daemon/networks/network-index.ts';
import { networkIndex } from '../../../support/fakes/network-index.ts';
import { Reach } from '../../../../daemon/networks/overlay/reach/reach.ts';
import { OverlayNetworks } from '../../../../daemon/networks/overlay/overlay-networks.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { FakeOverlayKernel } from '../../../support/fakes/overlay-kernel.ts';
import { networksChange } from '../../../support/swarm/networks.ts';
import { assignedNetwork, endpointOf, serviceOf } from '../../../support/swarm/overlay-objects.ts';

const DATA_PATH = { addr: '192.0.2.1', port: 4789 };
const TEN_MINUTES = 600_000;
const BACK = assignedNetwork();
const INGRESS = assignedNetwork({
  id: 'net0',
  name: 'ingress',
  vni: 4096,
  ingress: true,
  nodeAddresses: ['10.0.1.9'],
});
const T1 = endpointOf('t1', 3, { service: 's1' });
const S1 = serviceOf('s1', 2);
const FIRST = networksChange({ dataPath: DATA_PATH, networks: [BACK], endpoints: [T1], services: [S1] });
/** The kernel after FIRST. */
const AFTER_FIRST = {
  net1: {
    vni: 4097,
    local: '192.0.2.1',
    peers: { '02420a000103': '10.0.1.3 at 192.0.2.2' },
    balance: { '10.0.1.2': ['10.0.1.3'] },
  },
};

let directory: string;
let clock: ManualClock;
let kernel: FakeOverlayKernel;
let started: OverlayNetworks[];
/** The networks of the host, of the daemon that was started last. */
let index: NetworkIndex;

beforeEach(() => {
  armHere('');
  directory = mkdtempSync(join(tmpdir(), 'berth-test-overlay-'));
  clock = new ManualClock();
  kernel = new FakeOverlayKernel();
  started = [];
});

afterEach(async () => {
  await Promise.all(started.map((each) => each[Symbol.asyncDispose]()));
  rmSync(directory, { recursive: true, force: true });
});

/** A daemon's start, with the kernel as it is. */
async function start(...changes: ReturnType<typeof networksChange>[]): Promise<OverlayNetworks> {
  const files = new NetworkFiles({ directory, clock, log: silentLogger });
  const hostPorts = { hold: () => undefined, release: () => undefined };
  const reach = new Reach({ askedPerTurnMax: 200, unansweredMax: 3 });
  const mesh = new Mesh({ kernel, hostPorts, serving: reach, clock, log: silentLogger });
  index = networkIndex();
  const entries = new SwarmEntries(index);
  const networks = new OverlayNetworks({ kernel, files, entries, mesh, reach, clock, log: silentLogger });
  started.push(networks);
  await networks.load();
  await networks.start();
  for (const each of changes) {
    await networks.apply(each);
  }
  return networks;
}

function change(given: Parameters<typeof networksChange>[0]): ReturnType<typeof networksChange> {
  return networksChange({ dataPath: DATA_PATH, ...given });
}

function callsSince(step: () => Promise<unknown>): Promise<string[]> {
  kernel.calls = [];
  return step().then(() => [...kernel.calls]);
}

describe('apply()', () => {
  it('a new network is made whole, in the kernel and in its file', async () => {
    const networks = await start(FIRST);
    expect([kernel.networks, networks.trouble('net1'), readdirSync(directory)]).toEqual([
      AFTER_FIRST,
      undefined,
      ['net1.json'],
    ]);
  });

  it.each([
    [
      'the same once more costs nothing',
      { full: true, networks: [BACK], endpoints: [T1], services: [S1] },
      [],
    ],
    ['a task more', { endpoints: [endpointOf('t2', 4, { service: 's1' })] }, ['peers net1', 'balance net1']],
    ['a task that drains', { endpoints: [{ ...T1, isReady: false }] }, ['balance net1']],
    [
      'a task that is gone: no new connections before its flows are cut',
      { removedEndpoints: [{ network: 'net1', id: 't1' }] },
      ['guard 4097: ', 'peers net1', 'balance net1', 'forget net1 10.0.1.3'],
    ],
    ['a network that is gone', { removedNetworks: ['net1'] }, ['close net1', 'guard nothing']],
    ['one that is not known', { removedNetworks: ['net9'], endpoints: [{ ...T1, network: 'net9' }] }, []],
    [
      'another address of this node',
      { dataPath: { addr: '192.0.2.9', port: 4789 } },
      ['guard 4097: 192.0.2.2', 'open net1', 'mend peers net1', 'mend balance net1'],
    ],
  ])('%s', async (_title, given, calls) => {
    const networks = await start(FIRST);
    expect(await callsSince(() => networks.apply(change(given)))).toEqual(calls);
  });

  it('an address that goes from one host to the next in one change is at the next one', async () => {
    await start(
      FIRST,
      change({
        removedEndpoints: [{ network: 'net1', id: 't1' }],
        endpoints: [endpointOf('t2', 3, { service: 's1', nodeAddr: '192.0.2.3' })],
      }),
    );
    expect(kernel.networks['net1']?.peers).toEqual({ '02420a000103': '10.0.1.3 at 192.0.2.3' });
  });

  it('another address of this node: the device made again has all peers', async () => {
    await start(FIRST, change({ dataPath: { addr: '192.0.2.9', port: 4789 } }));
    expect(kernel.networks).toEqual({ net1: { ...AFTER_FIRST.net1, local: '192.0.2.9' } });
  });

  it('a full one drops what it does not name: networks, endpoints and services', async () => {
    await start(
      FIRST,
      change({ networks: [assignedNetwork({ id: 'net2', name: 'front', vni: 4098 })] }),
      change({ full: true, networks: [BACK] }),
    );
    expect([kernel.networks, readdirSync(directory)]).toEqual([
      { net1: { ...AFTER_FIRST.net1, peers: {}, balance: {} } },
      ['net1.json'],
    ]);
  });

  it('changes that come at once are acted on in order', async () => {
    const networks = await start();
    await Promise.all([
      networks.apply(FIRST),
      networks.apply(change({ removedNetworks: ['net1'] })),
      networks.apply(FIRST),
    ]);
    expect([kernel.networks, kernel.calls.filter((call) => !/^(?:mend|guard)/.test(call))]).toEqual([
      AFTER_FIRST,
      ['open net1', 'close net1', 'open net1'],
    ]);
  });

  it('the ingress network: ports of the mesh follow its tasks, and go with it', async () => {
    const ports = [{ protocol: 'tcp' as const, published: 8080, target: 80 }];
    const networks = await start(
      change({
        networks: [INGRESS],
        endpoints: [{ ...T1, network: 'net0' }],
        services: [{ ...S1, network: 'net0', ports }],
      }),
    );
    const first = [kernel.ingress, kernel.meshPorts];
    await networks.apply(change({ endpoints: [endpointOf('t2', 4, { network: 'net0', service: 's1' })] }));
    const second = kernel.meshPorts;
    await networks.apply(change({ removedNetworks: ['net0'] }));
    expect([first, second, kernel.ingress, kernel.meshPorts, kernel.networks]).toEqual([
      ['net0', ['tcp 8080 to 80: 10.0.1.3']],
      ['tcp 8080 to 80: 10.0.1.3 10.0.1.4'],
      undefined,
      [],
      {},
    ]);
  });
});

describe('a network that is made anew under its name', () => {
  it('is in force beside the one that tasks are still leaving, and has the name', async () => {
    const again = assignedNetwork({ id: 'net2', vni: 4098, created: BACK.created + 1 });
    const networks = await start(FIRST, change({ networks: [again] }));
    expect([networks.trouble('net1'), networks.trouble('net2')]).toEqual([undefined, undefined]);
    expect(index.lookUp('back')?.id).toBe('net2');
    const next = await start();
    expect([next.trouble('net1'), next.trouble('net2'), index.lookUp('back')?.id]).toEqual([
      undefined,
      undefined,
      'net2',
    ]);
    await next.apply(change({ removedNetworks: ['net1'] }));
    expect([index.lookUp('back')?.id, index.lookUp('net1')]).toEqual(['net2', undefined]);
    await next.apply(change({ removedNetworks: ['net2'] }));
    expect(index.has('back')).toBe(false);
  });
});

describe('peers()', () => {
  it('names each node that has something in a network once, by name', async () => {
    const networks = await start(
      FIRST,
      change({
        endpoints: [
          endpointOf('t2', 4),
          endpointOf('t3', 5, { node: '0v8k7xq1m2n3p4r5s6t7u8w9y', nodeAddr: '192.0.2.1' }),
        ],
      }),
    );
    expect(networks.peers('net1')).toEqual([
      { Name: '0v8k7xq1m2n3', IP: '192.0.2.1' },
      { Name: 'node2', IP: '192.0.2.2' },
    ]);
    expect(networks.peers('nosuch')).toEqual([]);
  });
});

describe('networks of the host', () => {
  it('the swarm’s are among them with their names, until they are gone, also over a daemon’s end', async () => {
    const find = () => index.lookUp('back')?.swarmNames?.find('s1')?.addresses.map(formatIp);
    await start(FIRST);
    const first = find();
    const networks = await start();
    const second = find();
    const entry = index.lookUp('net1');
    await networks.apply(change({ removedNetworks: ['net1'] }));
    expect([first, second, entry?.pool?.subnet, entry?.swarmNames, index.lookUp('back')]).toEqual([
      ['10.0.1.2'],
      ['10.0.1.2'],
      { base: parseIp('10.0.1.0'), prefixLength: 24 },
      undefined,
      undefined,
    ]);
  });

  it('one whose name a network of the host has waits until that is gone', async () => {
    const networks = await start(change({ networks: [{ ...BACK, name: 'host' }] }));
    const trouble = 'network host of the swarm: a network of this host has that name';
    expect([networks.trouble('net1'), networks.troubles()]).toEqual([trouble, [trouble]]);
    const local = index.lookUp('host');
    if (local !== undefined) {
      index.delete(local);
    }
    await clock.advance(500);
    expect([networks.trouble('net1'), index.lookUp('host')?.id]).toEqual([undefined, 'net1']);
  });

  it('files that cannot be read: nothing of the kernel is taken for nobody’s, until managers tell', async () => {
    kernel.openOverlay({
      networkId: 'net9',
      vni: 1,
      port: 1,
      local: 1,
      mtu: 0,
      encrypted: false,
      gateways: [],
    });
    writeFileSync(join(directory, 'file'), '');
    directory = join(directory, 'file');
    const networks = await start();
    const before = kernel.overlays();
    await networks.apply(change({ full: true }));
    await clock.advance(TEN_MINUTES);
    expect([before, kernel.overlays()]).toEqual([['net9'], []]);
  });
});

describe('a kernel without br_netfilter', () => {
  const trouble = expect.stringContaining('network back: virtual addresses of services need br_netfilter');

  it('a network with a virtual address says so, and works for the rest', async () => {
    kernel.balances = 'none';
    const networks = await start(FIRST);
    expect([networks.trouble('net1'), kernel.networks]).toEqual([trouble, AFTER_FIRST]);
    await networks.apply(change({ removedServices: [{ network: 'net1', id: 's1' }] }));
    await clock.advance(500);
    expect(networks.trouble('net1')).toBeUndefined();
    await networks.apply(change({ services: [S1] }));
    expect(networks.trouble('net1')).toEqual(trouble);
  });
});

describe('what fails', () => {
  it.each(['open net1', 'mend peers net1', 'mend balance net1'])(
    'at "%s": a sentence, of that network only, until an attempt succeeds',
    async (call) => {
      kernel.failures.set(call, 'the kernel has no VXLAN');
      const networks = await start(
        FIRST,
        change({ networks: [assignedNetwork({ id: 'net2', name: 'front', vni: 4098 })] }),
      );
      const before = [networks.trouble('net1'), networks.trouble('net2')];
      kernel.failures.clear();
      await clock.advance(500);
      expect([before, networks.trouble('net1'), kernel.networks['net1']]).toEqual([
        ['the kernel has no VXLAN', undefined],
        undefined,
        AFTER_FIRST.net1,
      ]);
    },
  );

  it.each(['peers net1', 'balance net1', 'forget net1 10.0.1.3'])(
    'at "%s": the network is made whole by the next attempt, flows are cut then',
    async (call) => {
      const networks = await start(FIRST);
      kernel.failures.set(call, 'no memory');
      await networks.apply(
        change({
          removedEndpoints: [{ network: 'net1', id: 't1' }],
          endpoints: [endpointOf('t2', 4, { service: 's1' })],
        }),
      );
      const before = networks.trouble('net1');
      kernel.failures.clear();
      const calls = await callsSince(() => clock.advance(500));
      expect([
        before,
        networks.trouble('net1'),
        kernel.networks['net1'],
        calls.at(-1),
        networks.repairs,
      ]).toEqual([
        'no memory',
        undefined,
        {
          ...AFTER_FIRST.net1,
          peers: { '02420a000104': '10.0.1.4 at 192.0.2.2' },
          balance: { '10.0.1.2': ['10.0.1.4'] },
        },
        'forget net1 10.0.1.3',
        0,
      ]);
    },
  );

  it('pauses double up to the longest; changes meanwhile are kept and cause no attempt', async () => {
    kernel.failures.set('open net1', 'no VXLAN');
    const networks = await start(FIRST);
    const attempts: number[] = [];
    for (let second = 0; second < 120; second += 1) {
      const calls = await callsSince(() => clock.advance(1_000));
      attempts.push(...calls.map(() => second));
    }
    expect(attempts).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
    const calls = await callsSince(() =>
      networks.apply(change({ removedEndpoints: [{ network: 'net1', id: 't1' }] })),
    );
    kernel.failures.clear();
    await clock.advance(30_000);
    expect([calls, kernel.networks['net1']?.peers]).toEqual([[], {}]);
  });

  it('a network that got what it lacked is made at once', async () => {
    const networks = await start(change({ networks: [{ ...INGRESS, nodeAddresses: [] }] }));
    const before = networks.trouble('net0');
    await networks.apply(change({ networks: [INGRESS] }));
    expect([before, networks.trouble('net0'), kernel.ingress]).toEqual([
      'network ingress: this node has no address in it yet',
      undefined,
      'net0',
    ]);
  });

  it('a removal is tried again', async () => {
    kernel.failures.set('close net1', 'EBUSY');
    await start(FIRST, change({ removedNetworks: ['net1'] }));
    const before = Object.keys(kernel.networks);
    kernel.failures.clear();
    await clock.advance(500);
    expect([before, kernel.networks]).toEqual([['net1'], {}]);
  });

  it('a network that comes back before it could be removed stays', async () => {
    kernel.failures.set('close net1', 'EBUSY');
    await start(FIRST, change({ removedNetworks: ['net1'] }), FIRST);
    kernel.failures.clear();
    const calls = await callsSince(() => clock.advance(60_000));
    expect([calls, kernel.networks]).toEqual([[], AFTER_FIRST]);
  });
});

describe('reconciling', () => {
  it('what another program changed is mended and counted; what is as it should be is not', async () => {
    const networks = await start(FIRST);
    await clock.advance(TEN_MINUTES);
    const before = networks.repairs;
    Object.assign(kernel.networks['net1'] ?? expect.fail('net1'), {
      peers: { '02420a000109': '10.0.1.9 at 192.0.2.9' },
      balance: {},
    });
    await clock.advance(TEN_MINUTES);
    expect([before, networks.repairs, kernel.networks]).toEqual([0, 3, AFTER_FIRST]);
    await clock.advance(TEN_MINUTES);
    expect(networks.repairs).toBe(3);
  });

  it('a network that is not there any more is made again', async () => {
    const networks = await start(FIRST);
    delete kernel.networks['net1'];
    await clock.advance(TEN_MINUTES);
    expect([kernel.networks, networks.repairs]).toEqual([AFTER_FIRST, 2]);
  });

  it('one that fails then is in trouble', async () => {
    const networks = await start(FIRST);
    kernel.failures.set('mend peers net1', 'no memory');
    await clock.advance(TEN_MINUTES);
    expect(networks.trouble('net1')).toBe('no memory');
  });

  it('ends with the daemon', async () => {
    const networks = await start(FIRST);
    await networks[Symbol.asyncDispose]();
    expect([await callsSince(() => clock.advance(TEN_MINUTES)), clock.pendingMs]).toEqual([[], []]);
  });
});

describe('the next daemon', () => {
  it.each([
    ['with the kernel as it was', () => undefined],
    ['after a restart of the host', () => delete kernel.networks['net1']],
  ])('%s: the same from the files, without managers', async (_title, between) => {
    const first = await start(FIRST, change({ endpoints: [endpointOf('t2', 4, { service: 's1' })] }));
    await first[Symbol.asyncDispose]();
    const before = structuredClone(kernel.networks);
    between();
    const second = await start();
    expect([kernel.networks, second.repairs]).toEqual([before, 0]);
  });

  it('networks that nobody knows are removed, the ingress network too', async () => {
    await start(FIRST, change({ networks: [INGRESS] }));
    rmSync(join(directory, 'net0.json'));
    kernel.networks['net7'] = structuredClone(AFTER_FIRST.net1);
    await start();
    expect([kernel.networks, kernel.ingress]).toEqual([AFTER_FIRST, undefined]);
  });

  it.each(['network.overlay.file', 'network.overlay.rename'])(
    'without the file, whose write failed at %s: managers tell of the network once more',
    async (name) => {
      armHere(`${name}=errno(EIO)`);
      const first = await start(FIRST);
      expect(first.trouble('net1')).toBeUndefined();
      await first[Symbol.asyncDispose]();
      armHere('');
      await start({ ...FIRST, full: true });
      expect(kernel.networks).toEqual(AFTER_FIRST);
    },
  );
});
