import type { NetworksChange } from '../../../swarm/protocol/networks.ts';

/** What a node knows of networks, put together from all that it was told. */
export class KnownNetworks {
  readonly #networks = new Map<string, unknown>();
  readonly #endpoints = new Map<string, unknown>();
  readonly #services = new Map<string, unknown>();

  /** Each sorted. */
  get all(): { networks: unknown[]; endpoints: unknown[]; services: unknown[] } {
    return {
      networks: sorted(this.#networks),
      endpoints: sorted(this.#endpoints),
      services: sorted(this.#services),
    };
  }

  get ids(): string {
    return [this.#networks, this.#services, this.#endpoints]
      .map((map) => [...map.keys()].toSorted().join(' '))
      .join(' | ');
  }

  clear(): void {
    [this.#networks, this.#endpoints, this.#services].forEach((map) => map.clear());
  }

  /** One that is full has to be cleared for, once for all of its parts. */
  add(change: NetworksChange): void {
    change.networks.forEach((network) => this.#networks.set(network.id, network));
    change.services.forEach((service) => this.#services.set(`${service.network}/${service.id}`, service));
    change.endpoints.forEach((each) => this.#endpoints.set(`${each.network}/${each.id}`, each));
    for (const { network, id } of change.removedEndpoints) {
      this.#endpoints.delete(`${network}/${id}`);
    }
    for (const { network, id } of change.removedServices) {
      this.#services.delete(`${network}/${id}`);
    }
    for (const gone of change.removedNetworks) {
      this.#networks.delete(gone);
      for (const map of [this.#endpoints, this.#services]) {
        [...map.keys()].filter((key) => key.startsWith(`${gone}/`)).forEach((key) => map.delete(key));
      }
    }
  }
}

function sorted(map: ReadonlyMap<string, unknown>): unknown[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}
