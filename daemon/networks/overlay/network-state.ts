import type {
  AssignedNetwork,
  NetworkEndpoint,
  NetworkService,
  NetworksChange,
} from '../../../api/types/swarm/overlay.ts';
import { ALL_SERVE, type Serving } from './reach/reach.ts';

/** What is different of one network of swarm scope. `network`: absent where only its parts changed. */
export interface NetworkPart {
  network?: AssignedNetwork;
  endpoints: readonly NetworkEndpoint[];
  removedEndpoints: readonly string[];
  services: readonly NetworkService[];
  removedServices: readonly string[];
}

/** One that was there before, is there now, or both. */
export interface Changed<T> {
  before: T | undefined;
  after: T | undefined;
}

/** What a change has changed. */
export interface NetworkDifference {
  endpoints: Changed<NetworkEndpoint>[];
  services: Changed<NetworkService>[];
}

/**
 * A network of swarm scope as managers told it last: who has an address in it, and its services. What a change costs
 * depends on the change, not on the network's size. Pure.
 */
export class NetworkState {
  network: AssignedNetwork;
  readonly endpoints = new Map<string, NetworkEndpoint>();
  readonly services = new Map<string, NetworkService>();
  readonly #ofService = new Map<string, Set<string>>();
  readonly #holders = new Map<string, Set<string>>();
  /** Endpoints on each node, by its address and id. */
  readonly #on = new Map<string, Set<string>>();
  #nodesText: string | undefined;
  readonly #serving: Serving;

  constructor(network: AssignedNetwork, serving: Serving = ALL_SERVE) {
    this.network = network;
    this.#serving = serving;
  }

  apply(part: NetworkPart): NetworkDifference {
    this.network = part.network ?? this.network;
    const endpoints = [
      ...gone(part.removedEndpoints, part.endpoints).map((id) => this.#setEndpoint(id, undefined)),
      ...part.endpoints.map((endpoint) => this.#setEndpoint(endpoint.id, endpoint)),
    ];
    const services = [
      ...gone(part.removedServices, part.services).map((id) => this.#setService(id, undefined)),
      ...part.services.map((service) => this.#setService(service.id, service)),
    ];
    return { endpoints, services };
  }

  /** The nodes that have something in the network; twice while one goes to another address. */
  get nodes(): { id: string; addr: string }[] {
    return [...this.#on.keys()].map((key) => {
      const [addr = '', id = ''] = key.split(' ');
      return { id, addr };
    });
  }

  /** `nodes` as a text, which costs nothing as long as they are the same. */
  get nodesText(): string {
    this.#nodesText ??= [...this.#on.keys()].toSorted().join();
    return this.#nodesText;
  }

  /** The endpoints of a service that take new connections. */
  readyOf(service: string): readonly NetworkEndpoint[] {
    return this.#serving.of(this.#toldReady(service));
  }

  /** Those that managers call ready, and that get no new connections all the same. */
  avoidedOf(service: string): NetworkEndpoint[] {
    const serving = new Set(this.readyOf(service));
    return this.#toldReady(service).filter((endpoint) => !serving.has(endpoint));
  }

  /** Addresses of hosts with endpoints that take new connections of a service. */
  readyHosts(): string[] {
    return [...this.endpoints.values()].flatMap(({ isReady, service, nodeAddr }) =>
      isReady && service !== undefined ? [nodeAddr] : [],
    );
  }

  /** Services with an endpoint on one of these hosts that managers call ready. */
  servicesOn(hosts: ReadonlySet<string>): string[] {
    const isThere = (id: string): boolean => this.#toldReady(id).some(({ nodeAddr }) => hosts.has(nodeAddr));
    return [...this.services.keys()].filter(isThere);
  }

  #toldReady(service: string): NetworkEndpoint[] {
    return [...(this.#ofService.get(service) ?? [])].flatMap((id) => {
      const endpoint = this.endpoints.get(id);
      return endpoint?.isReady === true ? [endpoint] : [];
    });
  }

  /** Who has an address; the one that was told last, for the moment in which it goes from one to the next. */
  holder(address: string): NetworkEndpoint | undefined {
    const id = [...(this.#holders.get(address) ?? [])].at(-1);
    return id === undefined ? undefined : this.endpoints.get(id);
  }

  #setEndpoint(id: string, after: NetworkEndpoint | undefined): Changed<NetworkEndpoint> {
    const before = this.endpoints.get(id);
    if (nodeKey(before) !== nodeKey(after)) {
      this.#nodesText = undefined;
    }
    if (before !== undefined) {
      this.endpoints.delete(id);
      takeFrom(this.#ofService, before.service, id);
      takeFrom(this.#holders, before.addresses[0], id);
      takeFrom(this.#on, nodeKey(before), id);
    }
    if (after !== undefined) {
      this.endpoints.set(id, after);
      addTo(this.#ofService, after.service, id);
      addTo(this.#holders, after.addresses[0], id);
      addTo(this.#on, nodeKey(after), id);
    }
    return { before, after };
  }

  #setService(id: string, after: NetworkService | undefined): Changed<NetworkService> {
    const before = this.services.get(id);
    if (after === undefined) {
      this.services.delete(id);
    } else {
      this.services.set(id, after);
    }
    return { before, after };
  }
}

/** All that is known of a network, as a part. */
export function wholeOf({ network, endpoints, services }: NetworkState): NetworkPart {
  return {
    network,
    endpoints: [...endpoints.values()],
    removedEndpoints: [],
    services: [...services.values()],
    removedServices: [],
  };
}

/** A change of many networks as the changes of each. One without `network` may be of a network that is gone. */
export function partsOf(change: NetworksChange): Map<string, NetworkPart> {
  const parts = new Map<string, MutablePart>();
  const part = (network: string): MutablePart => {
    const known = parts.get(network) ?? {
      endpoints: [],
      removedEndpoints: [],
      services: [],
      removedServices: [],
    };
    parts.set(network, known);
    return known;
  };
  const networks = new Map(change.networks.map((network) => [network.id, network]));
  networks.forEach((_network, id) => part(id));
  change.endpoints.forEach((endpoint) => part(endpoint.network).endpoints.push(endpoint));
  change.removedEndpoints.forEach(({ network, id }) => part(network).removedEndpoints.push(id));
  change.services.forEach((service) => part(service.network).services.push(service));
  change.removedServices.forEach(({ network, id }) => part(network).removedServices.push(id));
  return new Map(
    [...parts].map(([id, own]) => {
      const network = networks.get(id);
      return [id, { ...own, ...(network && { network }) }];
    }),
  );
}

interface MutablePart {
  endpoints: NetworkEndpoint[];
  removedEndpoints: string[];
  services: NetworkService[];
  removedServices: string[];
}

/** Ids of endpoints and services that a part, being all there is, no longer names. */
export function completed(state: NetworkState, part: NetworkPart): NetworkPart {
  const endpoints = new Set(part.endpoints.map(({ id }) => id));
  const services = new Set(part.services.map(({ id }) => id));
  return {
    ...part,
    removedEndpoints: [...state.endpoints.keys()].filter((id) => !endpoints.has(id)),
    removedServices: [...state.services.keys()].filter((id) => !services.has(id)),
  };
}

/** What is removed and named in one change is there. */
function gone(removed: readonly string[], named: readonly { id: string }[]): string[] {
  const ids = new Set(named.map(({ id }) => id));
  return removed.filter((id) => !ids.has(id));
}

function nodeKey(endpoint: NetworkEndpoint | undefined): string | undefined {
  return endpoint && `${endpoint.nodeAddr} ${endpoint.node}`;
}

function addTo(index: Map<string, Set<string>>, key: string | undefined, id: string): void {
  if (key !== undefined) {
    index.set(key, (index.get(key) ?? new Set()).add(id));
  }
}

function takeFrom(index: Map<string, Set<string>>, key: string | undefined, id: string): void {
  const ids = index.get(key ?? '');
  ids?.delete(id);
  if (ids?.size === 0) {
    index.delete(key ?? '');
  }
}
