import type { SwarmNetworks } from '../api/types/swarm/networks.ts';
import type { SwarmRole } from '../api/types/swarm/ports.ts';
import { EngineError } from '../daemon/base/errors.ts';

/** What a manager answers of networks (implemented in `swarm/control/networks`). */
export type ManagerNetworks = Pick<SwarmNetworks, 'list' | 'servicesOf' | 'create' | 'remove'>;

/** This node's place in its swarm, at that moment. */
export interface NetworksDeps {
  role: () => SwarmRole;
  /** Throws unavailable in dockerd's words where this node is no manager. */
  manager(): ManagerNetworks;
}

/** The networks of the swarm for the engine of this host: made of what this node is to its swarm. */
export function managerNetworks(deps: NetworksDeps): ManagerNetworks {
  /** Undefined where there is none, or none yet. */
  const manager = (): ManagerNetworks | undefined =>
    deps.role() === 'active/manager' ? deps.manager() : undefined;
  return {
    list: () => manager()?.list() ?? [],
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
