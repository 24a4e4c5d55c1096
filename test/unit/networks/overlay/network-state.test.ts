import { describe, expect, it } from 'vitest';
import { completed, NetworkState, partsOf } from '../../../../daemon/networks/overlay/network-state.ts';
import type { NetworkPart } from '../../../../daemon/networks/overlay/network-state.ts';
import { networksChange } from '../../../support/swarm/networks.ts';
import { assignedNetwork, endpointOf, serviceOf } from '../../../support/swarm/overlay-objects.ts';

const NETWORK = assignedNetwork();
const T1 = endpointOf('t1', 3, { service: 's1' });
const T2 = endpointOf('t2', 4, { service: 's1', isReady: false });
const S1 = serviceOf('s1', 2);

function part(given: Partial<NetworkPart>): NetworkPart {
  return { endpoints: [], removedEndpoints: [], services: [], removedServices: [], ...given };
}

function pair([before, after]: unknown[]): unknown {
  return { before, after };
}

function filled(): NetworkState {
  const state = new NetworkState(NETWORK);
  state.apply(part({ endpoints: [T1, T2], services: [S1] }));
  return state;
}

describe('apply()', () => {
  it.each([
    ['a new endpoint', { endpoints: [endpointOf('t3', 5)] }, [[undefined, endpointOf('t3', 5)]], []],
    [
      'one that is another',
      { endpoints: [{ ...T1, isReady: false }] },
      [[T1, { ...T1, isReady: false }]],
      [],
    ],
    ['one that is removed', { removedEndpoints: ['t1'] }, [[T1, undefined]], []],
    ['one that is removed and named', { removedEndpoints: ['t1'], endpoints: [T1] }, [[T1, T1]], []],
    ['one that was not there', { removedEndpoints: ['t9'] }, [[undefined, undefined]], []],
    ['a service that is another', { services: [serviceOf('s1', 9)] }, [], [[S1, serviceOf('s1', 9)]]],
    ['one that is removed', { removedServices: ['s1'] }, [], [[S1, undefined]]],
    [
      'a service and an endpoint of one id',
      { removedServices: ['s1'], endpoints: [endpointOf('s1', 7)] },
      [[undefined, endpointOf('s1', 7)]],
      [[S1, undefined]],
    ],
  ])('%s', (_title, given, endpoints, services) => {
    expect(filled().apply(part(given))).toEqual({
      endpoints: endpoints.map(pair),
      services: services.map(pair),
    });
  });

  it('the network itself is another', () => {
    const state = filled();
    const other = assignedNetwork({ nodeAddresses: ['10.0.1.9'] });
    state.apply(part({ network: other }));
    expect([state.network, state.endpoints.size]).toEqual([other, 2]);
  });
});

describe('what is known', () => {
  it.each([
    ['those that are ready', {}, ['t1']],
    ['one that becomes ready', { endpoints: [{ ...T2, isReady: true }] }, ['t1', 't2']],
    ['one of another service', { endpoints: [{ ...T1, service: 's2' }] }, []],
    ['none that is gone', { removedEndpoints: ['t1'] }, []],
  ])('of a service: %s', (_title, given, ids) => {
    const state = filled();
    state.apply(part(given));
    expect(state.readyOf('s1').map(({ id }) => id)).toEqual(ids);
  });

  it.each([
    ['the one that has it', {}, 't1'],
    ['the one that was told last', { endpoints: [endpointOf('t3', 3)] }, 't3'],
    ['the first again', { endpoints: [endpointOf('t3', 4)] }, 't1'],
    ['nobody', { removedEndpoints: ['t1'] }, undefined],
  ])('of an address: %s', (_title, given, id) => {
    const state = filled();
    state.apply(part(given));
    expect(state.holder('10.0.1.3')?.id).toBe(id);
  });
});

describe('partsOf()', () => {
  it('a change of two networks, one of them new', () => {
    const parts = partsOf(
      networksChange({
        networks: [NETWORK],
        endpoints: [T1, endpointOf('t5', 5, { network: 'net2' })],
        removedEndpoints: [{ network: 'net2', id: 't6' }],
        services: [S1],
        removedServices: [{ network: 'net2', id: 's6' }],
      }),
    );
    expect(Object.fromEntries(parts)).toEqual({
      net1: part({ network: NETWORK, endpoints: [T1], services: [S1] }),
      net2: part({
        endpoints: [endpointOf('t5', 5, { network: 'net2' })],
        removedEndpoints: ['t6'],
        removedServices: ['s6'],
      }),
    });
  });
});

describe('completed()', () => {
  it('what a whole network does not name is removed', () => {
    expect(completed(filled(), part({ endpoints: [T2] }))).toEqual(
      part({ endpoints: [T2], removedEndpoints: ['t1'], removedServices: ['s1'] }),
    );
  });
});
