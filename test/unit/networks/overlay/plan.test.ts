import { describe, expect, it } from 'vitest';
import { formatIp, parseIp } from '../../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../../daemon/base/addresses/ip.ts';
import { NetworkState } from '../../../../daemon/networks/overlay/network-state.ts';
import type { NetworkPart } from '../../../../daemon/networks/overlay/network-state.ts';
import {
  ingressSettings,
  kernelSteps,
  kernelTarget,
  overlaySettings,
} from '../../../../daemon/networks/overlay/plan.ts';
import type { BalancedAddress, OverlayPeer } from '../../../../runtime/network/overlay/settings.ts';
import { assignedNetwork, endpointOf, serviceOf } from '../../../support/swarm/overlay-objects.ts';

const DATA_PATH = { addr: '192.0.2.1', port: 4789 };
const HERE = { node: 'node1', nodeAddr: '192.0.2.1' };
const THERE = { node: 'node3', nodeAddr: '2001:db8::3' };
const T1 = endpointOf('t1', 3, { service: 's1' });
const T2 = endpointOf('t2', 4, { service: 's1', isReady: false });
const T3 = endpointOf('t3', 5, { service: 's1', ...HERE });
const A1 = endpointOf('a1', 6, { addresses: ['10.0.1.6', 'fd00::6'] });
const S1 = serviceOf('s1', 2);

function part(given: Partial<NetworkPart>): NetworkPart {
  return { endpoints: [], removedEndpoints: [], services: [], removedServices: [], ...given };
}

function filled(): NetworkState {
  const state = new NetworkState(assignedNetwork());
  state.apply(part({ endpoints: [T1, T2, T3, A1], services: [S1] }));
  return state;
}

function address(text: string): IpAddress {
  return parseIp(text) ?? expect.fail(text);
}

function peers(all: readonly OverlayPeer[]): string[] {
  return all.map(
    ({ mac, addresses, host }) =>
      `${mac.toString('hex')} ${addresses.map(formatIp).join(' ')} at ${formatIp(host)}`,
  );
}

function balanced(all: readonly BalancedAddress[]): string[] {
  return all.map(({ vip, backends }) => `${formatIp(vip)}: ${backends.map(formatIp).join(' ')}`);
}

/** What a change of the network above costs; only what is not empty. */
function stepsOf(given: Partial<NetworkPart>): Record<string, string[]> {
  const state = filled();
  const steps = kernelSteps(state, state.apply(part(given)), DATA_PATH);
  const all = {
    remove: peers(steps.peers.remove),
    add: peers(steps.peers.add),
    changed: balanced(steps.balance.changed),
    gone: steps.balance.gone.map(formatIp),
    forget: steps.forget.map(formatIp),
  };
  return Object.fromEntries(Object.entries(all).filter(([, list]) => list.length > 0));
}

describe('kernelSteps()', () => {
  const T1_PEER = '02420a000103 10.0.1.3 at 192.0.2.2';

  it.each<[string, Partial<NetworkPart>, Record<string, string[]>]>([
    ['all of it once more costs nothing', { endpoints: [T1, T2, T3, A1], services: [S1] }, {}],
    [
      'an attached container, of both families',
      { endpoints: [endpointOf('a2', 7, { addresses: ['10.0.1.7', 'fd00::7'], ...THERE })] },
      { add: ['02420a000107 10.0.1.7 fd00::7 at 2001:db8::3'] },
    ],
    ['one of this node is no peer', { endpoints: [endpointOf('a2', 7, HERE)] }, {}],
    ['nor is one without an address', { endpoints: [endpointOf('a2', 7, { addresses: [] })] }, {}],
    [
      'a task that becomes ready',
      { endpoints: [{ ...T2, isReady: true }] },
      { changed: ['10.0.1.2: 10.0.1.3 10.0.1.5 10.0.1.4'] },
    ],
    [
      'a task that drains: its flows stay',
      { endpoints: [{ ...T1, isReady: false }] },
      { changed: ['10.0.1.2: 10.0.1.5'] },
    ],
    [
      'a task that is gone: its flows are cut',
      { removedEndpoints: ['t1'] },
      { remove: [T1_PEER], changed: ['10.0.1.2: 10.0.1.5'], forget: ['10.0.1.3'] },
    ],
    [
      'an attached container that is gone',
      { removedEndpoints: ['a1'] },
      { remove: ['02420a000106 10.0.1.6 fd00::6 at 192.0.2.2'] },
    ],
    [
      'an address that goes to another host in one change',
      { removedEndpoints: ['t1'], endpoints: [endpointOf('t9', 3, { service: 's1', ...THERE })] },
      {
        remove: [T1_PEER],
        add: ['02420a000103 10.0.1.3 at 2001:db8::3'],
        changed: ['10.0.1.2: 10.0.1.5 10.0.1.3'],
        forget: ['10.0.1.3'],
      },
    ],
    // It may have been one that was not reached.
    [
      'an address that comes to this node',
      { endpoints: [{ ...T1, ...HERE }] },
      { remove: [T1_PEER], changed: ['10.0.1.2: 10.0.1.5 10.0.1.3'] },
    ],
    [
      'the last backend',
      { removedEndpoints: ['t1', 't3'] },
      { remove: [T1_PEER], changed: ['10.0.1.2: '], forget: ['10.0.1.3', '10.0.1.5'] },
    ],
    ['a service that is gone', { removedServices: ['s1'] }, { gone: ['10.0.1.2'] }],
    [
      'a service of another address',
      { services: [serviceOf('s1', 8)] },
      { changed: ['10.0.1.8: 10.0.1.3 10.0.1.5'], gone: ['10.0.1.2'] },
    ],
    [
      'an address that goes from a service to the next',
      { removedServices: ['s1'], services: [serviceOf('s2', 2)] },
      { changed: ['10.0.1.2: '] },
    ],
    ['a service without virtual addresses', { services: [serviceOf('s3', 9, { vips: [] })] }, {}],
  ])('%s', (_title, given, steps) => {
    expect(stepsOf(given)).toEqual(steps);
  });

  it('an address that a later endpoint has stays with it when the first one goes', () => {
    const state = filled();
    state.apply(part({ endpoints: [endpointOf('t9', 3, THERE)] }));
    const steps = kernelSteps(state, state.apply(part({ removedEndpoints: ['t1'] })), DATA_PATH);
    expect(peers(steps.peers.add)).toEqual(['02420a000103 10.0.1.3 at 2001:db8::3']);
  });
});

describe('kernelTarget()', () => {
  it('peers of other nodes, one for each address; backends of the family of the virtual address', () => {
    const state = filled();
    state.apply(
      part({
        endpoints: [
          endpointOf('t9', 3, THERE),
          endpointOf('t4', 7, { service: 's2', addresses: ['10.0.1.7', 'fd00::7'], ...HERE }),
        ],
        services: [serviceOf('s2', 8, { vips: ['10.0.1.8', 'fd00::8'] })],
      }),
    );
    const target = kernelTarget(state, DATA_PATH);
    expect({ peers: peers(target.peers), balance: balanced(target.balance) }).toEqual({
      peers: [
        '02420a000104 10.0.1.4 at 192.0.2.2',
        '02420a000106 10.0.1.6 fd00::6 at 192.0.2.2',
        '02420a000103 10.0.1.3 at 2001:db8::3',
      ],
      balance: ['10.0.1.2: 10.0.1.3 10.0.1.5', '10.0.1.8: 10.0.1.7', 'fd00::8: fd00::7'],
    });
  });
});

describe('settings', () => {
  const GATEWAYS = [
    { address: address('10.0.1.1'), prefixLength: 24 },
    { address: address('fd00::1'), prefixLength: 64 },
  ];
  const SETTINGS = {
    networkId: 'net1',
    vni: 4097,
    port: 4789,
    local: address('192.0.2.1'),
    mtu: 0,
    encrypted: false,
    gateways: GATEWAYS,
  };

  it('what the kernel is told of a network', () => {
    expect(overlaySettings(assignedNetwork(), DATA_PATH)).toEqual(SETTINGS);
  });

  it.each([
    ['1400', 1400],
    ['0', 0],
    ['-1', 0],
    ['many', 0],
  ])('MTU %s', (text, mtu) => {
    const network = assignedNetwork({ options: { 'com.docker.network.driver.mtu': text } });
    expect(overlaySettings(network, DATA_PATH).mtu).toBe(mtu);
  });

  it.each(['', 'true', 'false'])('encrypted=%s encrypts, as with dockerd', (encrypted) => {
    const network = assignedNetwork({ options: { encrypted } });
    expect(overlaySettings(network, DATA_PATH)).toEqual({ ...SETTINGS, encrypted: true });
  });

  it('a node without an address for overlay traffic is told so', () => {
    expect(() => overlaySettings(assignedNetwork(), { addr: '', port: 4789 })).toThrow(
      'network back: this node has no address for overlay traffic yet',
    );
  });

  it('the ingress network has addresses of this node, with the lengths of their subnets', () => {
    const network = assignedNetwork({ ingress: true, nodeAddresses: ['10.0.1.9', 'fd00::9', '10.9.9.9'] });
    expect(ingressSettings(network, DATA_PATH)).toEqual({
      ...SETTINGS,
      nodeAddresses: [
        { address: address('10.0.1.9'), prefixLength: 24 },
        { address: address('fd00::9'), prefixLength: 64 },
        { address: address('10.9.9.9'), prefixLength: 32 },
      ],
    });
  });

  it('the ingress network without an address of this node is refused', () => {
    expect(() => ingressSettings(assignedNetwork({ ingress: true }), DATA_PATH)).toThrow(
      'network back: this node has no address in it yet',
    );
  });
});
