import type { IngressPort, NetworkEndpoint, NetworkService } from '../../../../api/types/swarm/overlay.ts';
import type { MeshPort } from '../../../../runtime/network/overlay/settings.ts';
import { parseIp } from '../../../base/addresses/ip.ts';
import type { IpAddress } from '../../../base/addresses/ip.ts';
import { ALL_SERVE, type Serving } from '../reach/reach.ts';

/** What is different in the ingress network. */
export interface IngressChange {
  /** What is not named is gone. */
  full: boolean;
  /** Of this node, for overlay traffic: what is there is here. */
  local: string;
  endpoints: readonly Pick<NetworkEndpoint, 'id' | 'nodeAddr' | 'addresses' | 'service' | 'isReady'>[];
  /** Ids. */
  removedEndpoints: readonly string[];
  services: readonly Pick<NetworkService, 'id' | 'name' | 'ports'>[];
  removedServices: readonly string[];
}

/** A port of the mesh, and whose it is. */
export interface ServicePort extends MeshPort {
  /** Its name. */
  service: string;
}

interface Backend {
  addresses: readonly IpAddress[];
  isLocal: boolean;
  nodeAddr: string;
}

interface Published {
  name: string;
  ports: readonly IngressPort[];
}

/**
 * The ports that every node of the swarm answers at, and the tasks behind them, from what the swarm tells of the
 * ingress network. A change costs what the changed services have. Pure.
 */
export class IngressPorts {
  readonly #services = new Map<string, Published>();
  /** Ready tasks, by service. */
  readonly #backends = new Map<string, Map<string, Backend>>();
  /** Endpoint -> service, of those that are ready. */
  readonly #serviceOf = new Map<string, string>();
  /** Ports by service; what has changed is missing until it is asked for. */
  readonly #made = new Map<string, readonly ServicePort[]>();
  readonly #serving: Serving;

  constructor(serving: Serving = ALL_SERVE) {
    this.#serving = serving;
  }

  apply(change: IngressChange): void {
    if (change.full) {
      this.#services.clear();
      this.#backends.clear();
      this.#serviceOf.clear();
      this.#made.clear();
    }
    for (const id of change.removedEndpoints) {
      this.#dropBackend(id);
    }
    for (const id of change.removedServices) {
      this.#services.delete(id);
      this.#made.delete(id);
    }
    for (const { id, nodeAddr, addresses, service, isReady } of change.endpoints) {
      this.#dropBackend(id);
      if (service !== undefined && isReady) {
        this.#addBackend(id, service, {
          addresses: addresses.flatMap((address) => parseIp(address) ?? []),
          isLocal: nodeAddr === change.local,
          nodeAddr,
        });
      }
    }
    for (const { id, name, ports } of change.services) {
      this.#services.set(id, { name, ports });
      this.#made.delete(id);
    }
  }

  /** Other hosts are reached now than before. */
  reconsider(): void {
    this.#made.clear();
  }

  /** By `tcp/80`. A port without backends is one that refuses connections. */
  all(): Map<string, ServicePort> {
    const all = new Map<string, ServicePort>();
    for (const [id, service] of this.#services) {
      const ports = this.#made.get(id) ?? this.#make(id, service);
      this.#made.set(id, ports);
      ports.forEach((port) => all.set(`${port.protocol}/${port.published}`, port));
    }
    return all;
  }

  #make(id: string, { name, ports }: Published): ServicePort[] {
    const all = this.#serving.of([...(this.#backends.get(id)?.values() ?? [])]);
    const backends = all.flatMap(({ addresses }) => addresses);
    const local = all.flatMap(({ addresses, isLocal }) => (isLocal ? addresses : []));
    return ports.map(({ protocol, published, target, preferLocal }) => ({
      protocol,
      published,
      target,
      backends,
      local: preferLocal === true ? local : [],
      service: name,
    }));
  }

  #addBackend(id: string, service: string, backend: Backend): void {
    const backends = this.#backends.get(service) ?? new Map<string, Backend>();
    backends.set(id, backend);
    this.#backends.set(service, backends);
    this.#serviceOf.set(id, service);
    this.#made.delete(service);
  }

  #dropBackend(id: string): void {
    const service = this.#serviceOf.get(id);
    if (service === undefined) {
      return;
    }
    this.#serviceOf.delete(id);
    this.#made.delete(service);
    const backends = this.#backends.get(service);
    backends?.delete(id);
    if (backends?.size === 0) {
      this.#backends.delete(service);
    }
  }
}
