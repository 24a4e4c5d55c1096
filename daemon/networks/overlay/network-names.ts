import { parseIp } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import type { FoundName, SwarmNames } from '../network.ts';
import { ALL_SERVE, type Serving } from './reach/reach.ts';

/** Who has an address in the network, as the swarm tells. */
export interface NamedEndpoint {
  id: string;
  /** IPv4 first. */
  addresses: readonly string[];
  /** Of it alone; the first is that of its container. */
  names: readonly string[];
  /** The service that it is a task of. */
  service?: string;
  /** Takes new connections of its service. */
  isReady: boolean;
  /** Where it is. */
  nodeAddr: string;
}

/** A service in the network. Its backends are the endpoints that name it. */
export interface NamedService {
  id: string;
  name: string;
  /** None with endpoint mode dnsrr. */
  vips: readonly string[];
  aliases: readonly string[];
}

export interface NamesChange {
  /** What is not named is gone. */
  full: boolean;
  endpoints: readonly NamedEndpoint[];
  /** Ids. */
  removedEndpoints: readonly string[];
  services: readonly NamedService[];
  removedServices: readonly string[];
}

interface KnownEndpoint {
  name: string | undefined;
  keys: readonly string[];
  addresses: readonly IpAddress[];
  service: string | undefined;
  isReady: boolean;
  nodeAddr: string;
}

interface KnownService {
  name: string;
  keys: readonly string[];
  vips: readonly IpAddress[];
}

const TASKS_PREFIX = 'tasks.';

/**
 * The names of services, tasks and containers of the whole swarm in one network. A change costs what changed, a
 * question what is answered. What was told last stays when no manager is there. Pure.
 */
export class NetworkNames implements SwarmNames {
  readonly #endpoints = new Map<string, KnownEndpoint>();
  readonly #services = new Map<string, KnownService>();
  /** By name in lower case: ids. */
  readonly #endpointsOf = new Map<string, Set<string>>();
  readonly #servicesOf = new Map<string, Set<string>>();
  /** Endpoints that are ready, by service, whether that is known yet or not. */
  readonly #ready = new Map<string, Set<string>>();
  /** Who has an address: several for the moment in which it goes from one to the next. */
  readonly #endpointsAt = new Map<IpAddress, Set<string>>();
  readonly #servicesAt = new Map<IpAddress, Set<string>>();
  readonly #serving: Serving;

  constructor(serving: Serving = ALL_SERVE) {
    this.#serving = serving;
  }

  apply(change: NamesChange): void {
    if (change.full) {
      const endpoints = new Set(change.endpoints.map(({ id }) => id));
      const services = new Set(change.services.map(({ id }) => id));
      [...this.#endpoints.keys()].filter((id) => !endpoints.has(id)).forEach((id) => this.#dropEndpoint(id));
      [...this.#services.keys()].filter((id) => !services.has(id)).forEach((id) => this.#dropService(id));
    }
    change.removedEndpoints.forEach((id) => this.#dropEndpoint(id));
    change.removedServices.forEach((id) => this.#dropService(id));
    change.endpoints.forEach((endpoint) => this.#setEndpoint(endpoint));
    change.services.forEach((service) => this.#setService(service));
  }

  find(name: string): FoundName | undefined {
    const addresses = new Set<IpAddress>();
    const endpoints = this.#endpointsOf.get(name);
    const services = this.#servicesOf.get(name);
    const ofTasks = name.startsWith(TASKS_PREFIX)
      ? this.#servicesOf.get(name.slice(TASKS_PREFIX.length))
      : undefined;
    if (endpoints === undefined && services === undefined && ofTasks === undefined) {
      return undefined;
    }
    let changesOften = ofTasks !== undefined;
    for (const id of services ?? []) {
      const vips = this.#services.get(id)?.vips ?? [];
      changesOften ||= vips.length === 0;
      (vips.length > 0 ? vips : this.#readyOf(id)).forEach((address) => addresses.add(address));
    }
    for (const id of ofTasks ?? []) {
      this.#readyOf(id).forEach((address) => addresses.add(address));
    }
    for (const id of endpoints ?? []) {
      this.#endpoints.get(id)?.addresses.forEach((address) => addresses.add(address));
    }
    return { addresses: [...addresses], changesOften };
  }

  nameAt(address: IpAddress): string | undefined {
    const [endpoint = ''] = this.#endpointsAt.get(address) ?? [];
    const [service = ''] = this.#servicesAt.get(address) ?? [];
    return this.#endpoints.get(endpoint)?.name ?? this.#services.get(service)?.name;
  }

  #readyOf(service: string): IpAddress[] {
    const ready = [...(this.#ready.get(service) ?? [])].flatMap((id) => this.#endpoints.get(id) ?? []);
    return this.#serving.of(ready).flatMap(({ addresses }) => addresses);
  }

  #setEndpoint({ id, names, addresses, service, isReady, nodeAddr }: NamedEndpoint): void {
    this.#dropEndpoint(id);
    const known: KnownEndpoint = {
      name: names[0],
      keys: names.map((name) => name.toLowerCase()),
      addresses: parsedAll(addresses),
      service,
      isReady,
      nodeAddr,
    };
    this.#endpoints.set(id, known);
    known.keys.forEach((key) => addTo(this.#endpointsOf, key, id));
    known.addresses.forEach((address) => addTo(this.#endpointsAt, address, id));
    if (service !== undefined && isReady) {
      addTo(this.#ready, service, id);
    }
  }

  #dropEndpoint(id: string): void {
    const known = this.#endpoints.get(id);
    if (known === undefined) {
      return;
    }
    this.#endpoints.delete(id);
    known.keys.forEach((key) => takeFrom(this.#endpointsOf, key, id));
    known.addresses.forEach((address) => takeFrom(this.#endpointsAt, address, id));
    if (known.service !== undefined) {
      takeFrom(this.#ready, known.service, id);
    }
  }

  #setService({ id, name, aliases, vips }: NamedService): void {
    this.#dropService(id);
    const keys = [name, ...aliases].map((key) => key.toLowerCase());
    const known: KnownService = { name, keys, vips: parsedAll(vips) };
    this.#services.set(id, known);
    known.keys.forEach((key) => addTo(this.#servicesOf, key, id));
    known.vips.forEach((vip) => addTo(this.#servicesAt, vip, id));
  }

  #dropService(id: string): void {
    const known = this.#services.get(id);
    if (known === undefined) {
      return;
    }
    this.#services.delete(id);
    known.keys.forEach((key) => takeFrom(this.#servicesOf, key, id));
    known.vips.forEach((vip) => takeFrom(this.#servicesAt, vip, id));
  }
}

function parsedAll(addresses: readonly string[]): IpAddress[] {
  return addresses.flatMap((address) => parseIp(address) ?? []);
}

function addTo<Key>(index: Map<Key, Set<string>>, key: Key, id: string): void {
  index.set(key, (index.get(key) ?? new Set()).add(id));
}

function takeFrom<Key>(index: Map<Key, Set<string>>, key: Key, id: string): void {
  const ids = index.get(key);
  ids?.delete(id);
  if (ids?.size === 0) {
    index.delete(key);
  }
}
