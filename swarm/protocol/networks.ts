import type { NetworksChange } from '../../api/types/swarm/overlay.ts';

/** What a node is told of networks of swarm scope; the engine reads it too. */
export type { NetworksChange } from '../../api/types/swarm/overlay.ts';

/** There are none any more. */
export function noNetworks(dataPath: NetworksChange['dataPath']): NetworksChange {
  return {
    full: true,
    dataPath,
    networks: [],
    removedNetworks: [],
    endpoints: [],
    removedEndpoints: [],
    services: [],
    removedServices: [],
  };
}
