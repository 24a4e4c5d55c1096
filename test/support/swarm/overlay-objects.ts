import type { AssignedNetwork, NetworkEndpoint, NetworkService } from '../../../api/types/swarm/overlay.ts';

/** `net1` with 10.0.1.0/24 and fd00::/64. */
export function assignedNetwork(given: Partial<AssignedNetwork> = {}): AssignedNetwork {
  return {
    id: 'net1',
    name: 'back',
    created: 1_767_225_600_000,
    driver: 'overlay',
    labels: {},
    options: {},
    ingress: false,
    attachable: false,
    internal: false,
    ipv6: false,
    ipam: {
      driver: 'default',
      options: null,
      config: [
        { Subnet: '10.0.1.0/24', Gateway: '10.0.1.1' },
        { Subnet: 'fd00::/64', Gateway: 'fd00::1' },
      ],
    },
    vni: 4097,
    nodeAddresses: [],
    ...given,
  };
}

/** Of `net1`, on another node, ready: 10.0.1.`last` at 192.0.2.2. */
export function endpointOf(id: string, last: number, given: Partial<NetworkEndpoint> = {}): NetworkEndpoint {
  return {
    network: 'net1',
    id,
    node: 'node2',
    nodeAddr: '192.0.2.2',
    addresses: [`10.0.1.${last}`],
    names: [id],
    isReady: true,
    ...given,
  };
}

/** Of `net1`, at 10.0.1.`last`. */
export function serviceOf(id: string, last: number, given: Partial<NetworkService> = {}): NetworkService {
  return { network: 'net1', id, name: id, vips: [`10.0.1.${last}`], aliases: [], ports: [], ...given };
}
