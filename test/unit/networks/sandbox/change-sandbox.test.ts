import { join } from 'node:path';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { beforeEach, expect, test } from 'vitest';
import type { HostPort } from '../../../../runtime/network/port-reservations.ts';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { newId } from '../../../../daemon/base/ids.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { FakeOverlayKernel } from '../../../support/fakes/overlay-kernel.ts';
import { noSwarm } from '../../../support/fakes/no-swarm.ts';
import { networksChange } from '../../../support/swarm/networks.ts';
import { assignedNetwork } from '../../../support/swarm/overlay-objects.ts';
import { assembleNetworks } from '../../../../daemon/networks/assemble.ts';
import { hostFiles } from '../../../../daemon/networks/files/host-files.ts';
import { defaultNetworkOptions } from '../../../../daemon/networks/options.ts';
import type { NetworkKernel } from '../../../../daemon/networks/ports.ts';
import type { SandboxRequest } from '../../../../daemon/networks/sandbox/sandbox.ts';

function nothing(): void {
  // A kernel that does as it is told.
}
async function later(): Promise<void> {
  // The same, of what ends later.
}

/** Host ports that are held, and what the next call of these fails with. */
let held: Set<string>;
let failing: Partial<Record<'plug' | 'publish' | 'route', Error>>;

function fails(what: keyof typeof failing): void {
  const error = failing[what];
  if (error !== undefined) {
    delete failing[what];
    throw error;
  }
}

const keyOf = ({ protocol, hostAddress, hostPort }: HostPort): string =>
  `${protocol} ${hostAddress} ${hostPort}`;

function kernel(): NetworkKernel {
  return {
    names: {
      listen: () => ({ [Symbol.dispose]: nothing }),
      exchange: () => {
        throw new Error('nobody asks');
      },
    },
    hostSubnets: () => [],
    linkAddresses: () => [],
    prepare: nothing,
    addBridge: later,
    removeBridge: later,
    addParent: nothing,
    removeParent: later,
    open: (id) => `/run/netns/${id}`,
    close: nothing,
    attachInterface: async () => fails('plug'),
    detachInterface: later,
    route: () => fails('route'),
    interfaceNames: () => ['lo', 'eth0'],
    reserve: (port) => void held.add(keyOf(port)),
    release: (port) => void held.delete(keyOf(port)),
    forgetFlows: nothing,
    publish: (ports) => {
      if (ports.length > 0) {
        fails('publish');
      }
    },
    unpublish: nothing,
    sweep: later,
  };
}

/** One that lets everybody into its network, at one address. */
const aSwarm = { ...noSwarm, attach: async () => ({ addresses: ['10.0.1.7'] }) };

/** A container of these networks that publishes a port. */
async function inNetworks(...names: string[]) {
  const meta = new Map<string, string>();
  const { sandboxes, networks, overlays, attachments } = assembleNetworks({
    kernel: kernel(),
    meta: { get: (key) => meta.get(key), set: (key, value) => void meta.set(key, value) },
    table: { insert: nothing, remove: nothing, all: () => [] },
    journal: {
      commit: (change) => change(nothing),
      settle: nothing,
      note: nothing,
      tell: nothing,
    },
    options: defaultNetworkOptions,
    files: hostFiles(),
    overlayKernel: new FakeOverlayKernel(),
    swarm: aSwarm,
    overlayFiles: mkdtempSync(join(tmpdir(), 'berth-test-overlays-')),
    containerName: () => 'web',
    isWanted: () => false,
    clock: systemClock,
    log: silentLogger,
  });
  await networks.create({ Name: 'a-lan', Driver: 'macvlan', Options: { parent: 'eth9' } });
  await networks.create({ Name: 'z-blue' });
  const request: SandboxRequest = {
    containerId: newId(),
    containerName: 'web',
    hostname: 'web',
    domainname: '',
    networkMode: names[0] ?? '',
    endpoints: Object.fromEntries(names.map((name) => [name, {}])),
    exposedPorts: [],
    portBindings: { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '8080' }] },
    publishAllPorts: false,
    dns: [],
    dnsSearch: [],
    dnsOptions: [],
    extraHosts: [],
  };
  const sandbox = await sandboxes.open(request);
  const left = (name: string): SandboxRequest => {
    const { [name]: _left, ...endpoints } = request.endpoints;
    return { ...request, endpoints };
  };
  return { sandboxes, sandbox, request, left, overlays, attachments };
}

beforeEach(() => {
  held = new Set();
  failing = {};
});

test.each(['plug', 'publish'] as const)(
  'connect: when the kernel fails to %s, the error names container and network, and no port is held',
  async (step) => {
    const { sandboxes, sandbox, request } = await inNetworks('a-lan');
    const more = { ...request, endpoints: { ...request.endpoints, bridge: { GwPriority: 9 } } };
    failing[step] = new Error('ENODEV: No such device');
    await expect(sandboxes.connect(sandbox, more, 'bridge')).rejects.toThrow(
      'failed to create endpoint web on network bridge: ENODEV: No such device',
    );
    expect([...held]).toEqual([]);
  },
);

test('disconnect: host ports that it brings are given back when it fails, and when it is undone', async () => {
  const { sandboxes, sandbox, left } = await inNetworks('a-lan', 'z-blue');
  expect([...held]).toEqual([]);
  failing.route = new Error('EIO');
  await expect(sandboxes.disconnect(sandbox, left('a-lan'), 'a-lan')).rejects.toThrow('EIO');
  expect([...held]).toEqual([]);
  const done = await sandboxes.disconnect(sandbox, left('a-lan'), 'a-lan');
  expect([...held]).toEqual(['tcp 2130706433 8080']);
  await done.undo();
  expect([...held]).toEqual([]);
});

test('connect: a container that is in a network of the swarm already is refused, and stays in it', async () => {
  const { sandboxes, sandbox, request, overlays, attachments } = await inNetworks('z-blue');
  const dataPath = { addr: '192.0.2.1', port: 4789 };
  await overlays.apply(networksChange({ full: true, dataPath, networks: [assignedNetwork()] }));
  const more = { ...request, endpoints: { ...request.endpoints, back: {} } };
  const inside = await sandboxes.connect(sandbox, more, 'back');
  expect([inside.attached, inside.endpoints['back']?.IPAddress]).toEqual([['back'], '10.0.1.7']);
  await expect(sandboxes.connect(inside, more, 'back')).rejects.toThrow('already exists in network back');
  expect(attachments.list().map(({ addresses }) => addresses)).toEqual([['10.0.1.7']]);
  const { finish, sandbox: outside } = await sandboxes.disconnect(inside, request, 'back');
  await finish();
  expect([outside.attached, attachments.list()]).toEqual([undefined, []]);
});

test('connect: what fails in the kernel leaves the network of the swarm again', async () => {
  const { sandboxes, sandbox, request, overlays, attachments } = await inNetworks('z-blue');
  const dataPath = { addr: '192.0.2.1', port: 4789 };
  await overlays.apply(networksChange({ full: true, dataPath, networks: [assignedNetwork()] }));
  failing.plug = new Error('ENODEV: No such device');
  const more = { ...request, endpoints: { ...request.endpoints, back: {} } };
  await expect(sandboxes.connect(sandbox, more, 'back')).rejects.toThrow('ENODEV');
  expect(attachments.list()).toEqual([]);
});
