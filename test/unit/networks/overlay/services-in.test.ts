import { expect, test } from 'vitest';
import { NetworkState } from '../../../../daemon/networks/overlay/network-state.ts';
import { servicesIn } from '../../../../daemon/networks/overlay/services-in.ts';
import { assignedNetwork, endpointOf, serviceOf } from '../../../support/swarm/overlay-objects.ts';

test('services are told by name with the tasks that take calls', () => {
  const state = new NetworkState(assignedNetwork({}));
  const task = { ...endpointOf('t1', 3), service: 's1', names: ['web.1.t1', 'abc'], nodeAddr: '192.0.2.7' };
  state.apply({
    endpoints: [
      { ...task, isReady: true },
      { ...task, id: 't2', isReady: false },
      { ...endpointOf('x', 4), names: ['box'] },
    ],
    removedEndpoints: [],
    services: [
      {
        ...serviceOf('s1', 2),
        name: 'Web',
        ports: [{ protocol: 'tcp', published: 8080, target: 80 }],
      },
      { ...serviceOf('s2', 9), name: 'other', vips: [] },
    ],
    removedServices: [],
  });
  const [address] = task.addresses;
  expect(servicesIn(state)).toEqual({
    Web: {
      VIP: serviceOf('s1', 2).vips[0],
      Ports: ['Target: 80, Publish: 8080'],
      LocalLBIndex: 0,
      Tasks: [{ Name: 'Web.1.t1', EndpointID: 't1', EndpointIP: address, Info: { 'Host IP': '192.0.2.7' } }],
    },
    other: { VIP: '', Ports: [], LocalLBIndex: 0, Tasks: [] },
  });
});
