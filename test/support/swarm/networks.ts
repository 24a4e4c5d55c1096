import type { NetworksChange } from '../../../swarm/protocol/networks.ts';

/** A change of nothing, with what is given instead. */
export function networksChange(given: Partial<NetworksChange> = {}): NetworksChange {
  return {
    full: false,
    dataPath: { addr: '10.0.0.7', port: 4789 },
    networks: [],
    removedNetworks: [],
    endpoints: [],
    removedEndpoints: [],
    services: [],
    removedServices: [],
    ...given,
  };
}
