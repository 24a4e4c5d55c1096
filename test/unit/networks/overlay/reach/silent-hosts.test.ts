import { armHere } from '../../../../support/fakes/failpoints.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatIp } from '../../../../../daemon/base/addresses/ip.ts';
import { silentLogger } from '../../../../../daemon/base/logger.ts';
import { NetworkFiles } from '../../../../../daemon/networks/overlay/network-files.ts';
import { Mesh } from '../../../../../daemon/networks/overlay/mesh/mesh.ts';
import { SwarmEntries } from '../../../../../daemon/networks/overlay/swarm-entries.ts';
import type { NetworkIndex } from '../../../../../daemon/networks/network-index.ts';
import { networkIndex } from '../../../../support/fakes/network-index.ts';
import { Reach } from '../../../../../daemon/networks/overlay/reach/reach.ts';
import { OverlayNetworks } from '../../../../../daemon/networks/overlay/overlay-networks.ts';
import { ManualClock } from '../../../../support/fakes/manual-clock.ts';
import { FakeOverlayKernel } from '../../../../support/fakes/overlay-kernel.ts';
import { networksChange } from '../../../../support/swarm/networks.ts';
import { assignedNetwork, endpointOf, serviceOf } from '../../../../support/swarm/overlay-objects.ts';

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

function behind(): unknown {
  return [kernel.networks['net1']?.balance['10.0.1.2'], kernel.meshPorts];
}

describe('hosts that do not answer', () => {
  const OTHER = { nodeAddr: '192.0.2.3', node: 'node3' };
  const T2 = endpointOf('t2', 4, { service: 's1', ...OTHER });
  const IN1 = endpointOf('t1', 7, { network: 'net0', service: 's1' });
  const IN2 = endpointOf('t2', 8, { network: 'net0', service: 's1', ...OTHER });
  const PUBLISHED = serviceOf('s1', 2, {
    network: 'net0',
    vips: [],
    ports: [{ protocol: 'tcp', published: 8080, target: 80 }],
  });
  const ALL = change({
    full: true,
    networks: [BACK, INGRESS],
    endpoints: [T1, T2, IN1, IN2],
    services: [S1, PUBLISHED],
  });
  /** All answer for a while; then so many turns pass without an answer of these. */
  const silence = async (networks: OverlayNetworks, ...silent: string[]): Promise<string[]> => {
    ['192.0.2.2', '192.0.2.3'].forEach((host) => kernel.answering.add(host));
    await clock.advance(3_000);
    silent.forEach((host) => kernel.answering.delete(host));
    kernel.calls = [];
    await clock.advance(5_000);
    await settled(networks);
    return [...kernel.calls];
  };
  const settled = (networks: OverlayNetworks): Promise<void> => networks.apply(change({}));

  it('get no new connections; those that they have not answered yet go elsewhere', async () => {
    const networks = await start(ALL);
    expect(await silence(networks, '192.0.2.3')).toEqual([
      'balance net1',
      'forget unanswered net1 10.0.1.4',
      'mesh',
      'forget unanswered net0 10.0.1.8',
    ]);
    expect(behind()).toEqual([['10.0.1.3'], ['tcp 8080 to 80: 10.0.1.7']]);
    const names = index.lookUp('back')?.swarmNames;
    expect(names?.find('tasks.s1')?.addresses.map(formatIp)).toEqual(['10.0.1.3']);
    kernel.answering.add('192.0.2.3');
    await clock.advance(2_000);
    await settled(networks);
    expect(behind()).toEqual([['10.0.1.3', '10.0.1.4'], ['tcp 8080 to 80: 10.0.1.7 10.0.1.8']]);
  });

  it('keep theirs where no other tasks are left', async () => {
    const networks = await start(ALL);
    await silence(networks, '192.0.2.2', '192.0.2.3');
    expect(behind()).toEqual([['10.0.1.3', '10.0.1.4'], ['tcp 8080 to 80: 10.0.1.7 10.0.1.8']]);
  });

  it('stay left out in changes of their service, and after repairs; the file has what managers told', async () => {
    const networks = await start(ALL);
    await silence(networks, '192.0.2.3');
    await networks.apply(change({ endpoints: [endpointOf('t3', 5, { service: 's1' })] }));
    expect(behind()).toEqual([['10.0.1.3', '10.0.1.5'], ['tcp 8080 to 80: 10.0.1.7']]);
    await clock.advance(TEN_MINUTES);
    await settled(networks);
    expect(behind()).toEqual([['10.0.1.3', '10.0.1.5'], ['tcp 8080 to 80: 10.0.1.7']]);
    await start();
    expect(behind()).toEqual([['10.0.1.3', '10.0.1.4', '10.0.1.5'], ['tcp 8080 to 80: 10.0.1.7 10.0.1.8']]);
  });

  it('get new connections at once where they have another address by then', async () => {
    const networks = await start(ALL);
    await silence(networks, '192.0.2.3');
    expect(behind()).toEqual([['10.0.1.3'], ['tcp 8080 to 80: 10.0.1.7']]);
    const moved = { nodeAddr: '192.0.2.33' };
    await networks.apply(
      change({
        endpoints: [
          { ...T2, ...moved },
          { ...IN2, ...moved },
        ],
      }),
    );
    expect(behind()).toEqual([['10.0.1.3', '10.0.1.4'], ['tcp 8080 to 80: 10.0.1.7 10.0.1.8']]);
  });

  it('network.reach.probe: a host that cannot ask takes all others for being there', async () => {
    const networks = await start(ALL);
    await silence(networks, '192.0.2.3');
    armHere('network.reach.probe=errno(EIO)');
    await clock.advance(1_000);
    await settled(networks);
    expect(behind()).toEqual([['10.0.1.3', '10.0.1.4'], ['tcp 8080 to 80: 10.0.1.7 10.0.1.8']]);
  });
});
