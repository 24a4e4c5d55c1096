import type { SwarmNetworks } from '../api/types/swarm/networks.ts';
import type { SwarmRole } from '../api/types/swarm/ports.ts';
import type { NetworkInspect } from '../api/types/system.ts';
import { EngineError, isEngineError } from '../daemon/base/errors.ts';

/** What this node answers of networks, whatever it is to its swarm. */
type NodeNetworks = Pick<SwarmNetworks, 'list' | 'isInUse' | 'servicesOf' | 'create' | 'remove'>;

/** What a manager answers of networks (implemented in `swarm/control/networks`). */
export interface ManagerNetworks extends NodeNetworks {
  list(): NetworkInspect[];
}

/** This node's place in its swarm, at that moment. */
export interface NetworksDeps {
  role: () => SwarmRole;
  /** Throws unavailable in dockerd's words where this node is no manager. */
  manager(): ManagerNetworks;
}

/** The networks of the swarm for the engine of this host: made of what this node is to its swarm. */
export function nodeNetworks(deps: NetworksDeps): NodeNetworks {
  /** Undefined where there is none, or none that may answer: what this host has by itself is to be seen then, too. */
  const manager = (): ManagerNetworks | undefined => {
    try {
      return deps.manager();
    } catch (error) {
      if (isEngineError(error, 'unavailable')) {
        return undefined;
      }
      throw error;
    }
  };
  return {
    list: () => manager()?.list(),
    isInUse: (network) => manager()?.isInUse(network) ?? false,
    servicesOf: (network) => manager()?.servicesOf(network),
    create: async (request) => {
      if (deps.role() === 'active/worker') {
        throw new EngineError(
          'forbidden',
          'Cannot create a multi-host network from a worker node. Please create the network from a manager node.',
        );
      }
      return await deps.manager().create(request);
    },
    remove: async (network) => await deps.manager().remove(network),
  };
}
