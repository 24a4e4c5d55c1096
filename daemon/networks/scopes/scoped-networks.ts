import type { NetworkPort } from '../../../api/types/ports.ts';
import type { Filters } from '../../../api/types/requests.ts';
import type { SwarmNetworks } from '../../../api/types/swarm/networks.ts';
import type { SwarmRole } from '../../../api/types/swarm/ports.ts';
import type {
  NetworkCreateRequest,
  NetworkCreateResponse,
  NetworkInspect,
  NetworkPeer,
  NetworkPruneReport,
  NetworkServices,
} from '../../../api/types/system.ts';
import type { Clock } from '../../base/clock.ts';
import { EngineError, conflict, errorText, isEngineError, notFound } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { matchesFilters } from '../network-filters.ts';
import type { Networks } from '../networks.ts';
import { pruneTest } from '../prune-filters.ts';
import { findNetwork } from './find-network.ts';
import { forServices, isForServices } from './for-services.ts';

export interface ScopedNetworksDeps {
  /** What this host has, networks of the swarm that it was told of among them. */
  local: Pick<Networks, 'list' | 'known' | 'viewOf' | 'create' | 'remove' | 'prune'>;
  /** What a manager decides. */
  swarm: Pick<SwarmNetworks, 'list' | 'isInUse' | 'statusOf' | 'servicesOf' | 'create' | 'remove'>;
  role: () => SwarmRole;
  /** The nodes that are in a network, as far as this one was told of them. */
  peersOf: (networkId: string) => NetworkPeer[];
  servicesOf: (networkId: string) => NetworkServices;
  clock: Pick<Clock, 'nowNano'>;
  log: Logger;
}

interface Known {
  id: string;
  name: string;
  driver: string;
  scope: string;
}

/**
 * The networks of this host and of its swarm as clients see them together (NetworkPort of api/types/ports.ts). What a
 * manager says of a network counts; what is in it here is the host's to say. A network that is being taken down here
 * after it was removed from the swarm is none any more on managers.
 */
export class ScopedNetworks implements NetworkPort {
  readonly #deps: ScopedNetworksDeps;

  constructor(deps: ScopedNetworksDeps) {
    this.#deps = deps;
  }

  /** Those of this host first. */
  async list(filters: Filters): Promise<NetworkInspect[]> {
    const { local, swarm } = this.#deps;
    const told = swarm.list();
    const ofHost = await local.list(filters);
    return [
      ...ofHost.filter(({ Scope }) => told === undefined || Scope !== 'swarm'),
      ...(told ?? [])
        .map((network) => this.#withContainers(network))
        .filter((network) => matchesFilters(this.#filtered(network), filters)),
    ];
  }

  /** With `Peers` where this node has the network; when `verbose` with `Services`, there and on managers. */
  async inspect(
    ref: string,
    { scope = '', verbose = false }: { scope?: string; verbose?: boolean } = {},
  ): Promise<NetworkInspect> {
    const all = this.#known();
    try {
      const { id } = findNetwork(
        ref,
        all.filter((each) => scope === '' || each.scope === scope),
      );
      return this.#view(id, verbose);
    } catch (error) {
      if (scope !== 'swarm' || this.#deps.swarm.list() === undefined || !isEngineError(error, 'not_found')) {
        throw error;
      }
      return forServices(this.#view(findNetwork(ref, all.filter(isForServices)).id, verbose));
    }
  }

  async create(request: NetworkCreateRequest): Promise<NetworkCreateResponse> {
    const { local, swarm, role } = this.#deps;
    const { Name: name = '' } = request;
    if (swarm.list()?.some(({ Name }) => Name === name) === true) {
      throw conflict(`network with name ${name} already exists`);
    }
    if (!isForSwarm(request)) {
      return await local.create(request);
    }
    refuseScope(request, role());
    return await swarm.create(request);
  }

  async remove(ref: string): Promise<void> {
    const { local, swarm } = this.#deps;
    const { id, scope } = findNetwork(ref, this.#known());
    await (scope === 'swarm' ? swarm.remove(id) : local.remove(id));
  }

  /** Removes what nothing uses: of the swarm on managers, never its ingress network. */
  async prune(filters: Filters): Promise<NetworkPruneReport> {
    const ofSwarm = await this.#pruneSwarm(filters);
    const { NetworksDeleted: ofHost } = await this.#deps.local.prune(filters);
    const deleted = [...ofSwarm, ...(ofHost ?? [])];
    return { NetworksDeleted: deleted.length === 0 ? null : deleted };
  }

  async #pruneSwarm(filters: Filters): Promise<string[]> {
    const { swarm, clock, log } = this.#deps;
    const passes = pruneTest(filters, clock.nowNano());
    const deleted: string[] = [];
    for (const network of swarm.list() ?? []) {
      if (!this.#isDangling(network) || !passes(network)) {
        continue;
      }
      try {
        await swarm.remove(network.Id);
        deleted.push(network.Name);
      } catch (error) {
        // Something uses it by now, or it is gone; as in dockerd the others are pruned all the same.
        log.warn(
          { network: network.Name, err: errorText(error) },
          'a network of the swarm could not be pruned',
        );
      }
    }
    return deleted;
  }

  /** Each network once, by what clients name it by. */
  #known(): Known[] {
    const ofHost = this.#deps.local.known();
    const told = this.#deps.swarm.list();
    return told === undefined
      ? ofHost
      : [
          ...ofHost.filter(({ scope }) => scope !== 'swarm'),
          ...told.map(({ Id, Name, Driver, Scope }) => ({
            id: Id,
            name: Name,
            driver: Driver,
            scope: Scope,
          })),
        ];
  }

  #view(id: string, verbose: boolean): NetworkInspect {
    const { local, swarm, peersOf, servicesOf } = this.#deps;
    const told = swarm.list()?.find(({ Id }) => Id === id);
    const view = told === undefined ? local.viewOf(id) : this.#withContainers(told);
    if (view === undefined) {
      throw notFound(`network ${id} not found`);
    }
    const peers = peersOf(id);
    const status = told === undefined ? view.Status : swarm.statusOf(id);
    const services = verbose ? (swarm.servicesOf(id) ?? servicesOf(id)) : {};
    return {
      ...view,
      ...(status && { Status: status }),
      ...(peers.length > 0 && { Peers: peers }),
      ...(Object.keys(services).length > 0 && { Services: services }),
    };
  }

  #withContainers(told: NetworkInspect): NetworkInspect {
    return { ...told, Containers: this.#deps.local.viewOf(told.Id)?.Containers ?? told.Containers };
  }

  #filtered(network: NetworkInspect): Parameters<typeof matchesFilters>[0] {
    return { ...network, isBuiltIn: false, isDangling: this.#isDangling(network) };
  }

  /** Nothing on any node keeps it. The ingress network is not there to be used by name. */
  #isDangling({ Id, Ingress }: NetworkInspect): boolean {
    return !Ingress && !this.#deps.swarm.isInUse(Id);
  }
}

/** Settings that networks are taken from are each host's own. */
function isForSwarm({ ConfigOnly, Driver, Scope, Ingress }: NetworkCreateRequest): boolean {
  return ConfigOnly !== true && (Driver === 'overlay' || Scope === 'swarm' || Ingress === true);
}

/** Throws forbidden in the words of dockerd's hosts, which look at the scope before their managers are asked. */
function refuseScope({ Driver: driver, Scope: scope, Ingress }: NetworkCreateRequest, role: SwarmRole): void {
  if (driver === 'overlay') {
    if (scope === 'local') {
      throw new EngineError('forbidden', 'cannot downgrade network scope for overlay networks');
    }
    return;
  }
  if (Ingress === true) {
    throw new EngineError('forbidden', 'Ingress network can only be global scope network');
  }
  if (role === 'inactive') {
    throw new EngineError('forbidden', 'cannot create a swarm scoped network when swarm is not active');
  }
}
