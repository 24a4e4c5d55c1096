import type { SwarmNetworks } from '../api/types/swarm/networks.ts';
import type { SwarmRole } from '../api/types/swarm/ports.ts';
import type { NetworkInspect } from '../api/types/system.ts';
import { EngineError, isEngineError, notFound } from '../daemon/base/errors.ts';
import type { NodeNetworks } from './agent/ports.ts';

/** What a manager answers of networks (implemented in `swarm/control/networks`). */
export interface ManagerNetworks extends Omit<SwarmNetworks, 'list' | 'attach' | 'detach'> {
  list(): NetworkInspect[];
}

/** This node's place in its swarm, at that moment. */
export interface NetworksDeps {
  role: () => SwarmRole;
  /** Throws unavailable in dockerd's words where this node is no manager. */
  manager(): ManagerNetworks;
  /** Undefined where this node belongs to no swarm, or does not work as what it is to it. */
  agent(): NodeNetworks | undefined;
}

/** The networks of the swarm for the engine of this host: made of what this node is to its swarm. */
export function swarmNetworks(deps: NetworksDeps): SwarmNetworks {
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
    statusOf: (network) => manager()?.statusOf(network),
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
    attach: async (request, signal) => {
      const agent = deps.agent();
      if (agent !== undefined) {
        return await agent.attach(request, signal);
      }
      const { network } = request;
      throw deps.role() === 'inactive'
        ? notFound(`network ${network} not found`)
        : new EngineError(
            'unavailable',
            `Could not attach to network ${network}: this node has no part in its swarm`,
          );
    },
    detach: async (place) => await deps.agent()?.detach(place),
  };
}
