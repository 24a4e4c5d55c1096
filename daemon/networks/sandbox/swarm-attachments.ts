import type { AttachContainer, SwarmNetworks } from '../../../api/types/swarm/networks.ts';
import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import { errorText, internal } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Logger } from '../../base/logger.ts';
import { isOfSwarm } from '../network.ts';
import type { NetworkIndex } from '../network-index.ts';
import { dnsNames } from './endpoints.ts';
import type { Sandbox, SandboxRequest } from './sandbox.ts';
import { ownerOf } from './sandbox-owner.ts';
import { addressesOf } from './stored-endpoint.ts';
import { formatIp } from '../../base/addresses/ip.ts';

/** The swarm's door, for a host that may be in none. */
export interface SwarmAccess extends Pick<SwarmNetworks, 'attach' | 'detach'> {
  /** A network that this host may not have: what is known of it without asking anybody. */
  find(ref: string): { id: string; name: string } | undefined;
}

/** A request with the addresses that the swarm gave, and the networks of this host that it was let into. */
interface Attached {
  request: SandboxRequest;
  /** By name. */
  names: string[];
}

/**
 * Containers of this host that are no tasks, in networks of the swarm. Its managers choose their addresses, and tell
 * other nodes of them. A container is known here before it is at work, and no more before the swarm hears that it left.
 */
export class SwarmAttachments {
  readonly #access: SwarmAccess;
  readonly #index: NetworkIndex;
  readonly #trouble: (networkId: string) => string | undefined;
  readonly #log: Logger;
  /** By container, then by name of the network. */
  readonly #attached = new Map<string, Map<string, AttachContainer>>();

  /** `trouble` tells why a network of the swarm is not in force on this host. */
  constructor(deps: {
    access: SwarmAccess;
    registry: NetworkIndex;
    trouble: (networkId: string) => string | undefined;
    log: Logger;
  }) {
    this.#trouble = deps.trouble;
    this.#access = deps.access;
    this.#index = deps.registry;
    this.#log = deps.log;
  }

  find(ref: string): { id: string; name: string } | undefined {
    return this.#access.find(ref);
  }

  /** All that are let in. */
  list(): AttachContainer[] {
    return [...this.#attached.values()].flatMap((networks) => [...networks.values()]);
  }

  /**
   * Has the container let into those of `refs` that are of the swarm; tasks are in them by themselves. Throws what the
   * swarm refuses; then it is let into none of them.
   */
  async enter(request: SandboxRequest, refs = Object.keys(request.endpoints)): Promise<Attached> {
    const names: string[] = [];
    const endpoints = { ...request.endpoints };
    try {
      for (const ref of request.ofTask === true ? [] : refs.filter((each) => this.#isOfSwarm(each))) {
        const { id, name, addresses } = await this.#enter(request, ref);
        names.push(name);
        this.#refuseTroubled(id);
        failpoint('network.attach.given');
        endpoints[ref] = withAddresses(request.endpoints[ref] ?? {}, addresses);
      }
    } catch (error) {
      this.leave(request.containerId, names);
      throw error;
    }
    return { request: { ...request, endpoints }, names };
  }

  /** The swarm is told behind this. Idempotent. */
  leave(containerId: string, names: readonly string[]): void {
    const networks = this.#attached.get(containerId);
    for (const name of names) {
      const place = networks?.get(name);
      networks?.delete(name);
      if (networks?.size === 0) {
        this.#attached.delete(containerId);
      }
      if (place !== undefined) {
        this.#tell(place);
      }
    }
  }

  /** Its names from here on, which the swarm is told behind this. */
  renamed(containerId: string, { endpoints, attached = [] }: Sandbox): void {
    for (const name of attached) {
      const place = this.#attached.get(containerId)?.get(name);
      if (place !== undefined) {
        const renamed = { ...place, names: lower(endpoints[name]?.DNSNames ?? []) };
        this.#note(containerId, name, renamed);
        void this.#access.attach(renamed, new AbortController().signal).catch((error: unknown) => {
          this.#log.error(
            { network: name, container: containerId, err: errorText(error) },
            'the swarm was not told the new name of a container',
          );
        });
      }
    }
  }

  /** After a restart of the daemon: this container runs. */
  restore(containerId: string, { endpoints, attached = [] }: Sandbox): void {
    for (const name of attached) {
      const endpoint = endpoints[name];
      if (endpoint !== undefined) {
        this.#note(containerId, name, {
          network: endpoint.NetworkID ?? '',
          names: lower(endpoint.DNSNames ?? []),
          addresses: addressesOf(endpoint).map(({ address }) => formatIp(address)),
        });
      }
    }
  }

  /** What is not on this host may be the swarm's. */
  #isOfSwarm(ref: string): boolean {
    const network = this.#index.lookUp(ref);
    return network === undefined ? !['bridge', 'default'].includes(ref) : isOfSwarm(network);
  }

  #refuseTroubled(networkId: string): void {
    const trouble = this.#trouble(networkId);
    if (trouble !== undefined) {
      throw internal(trouble);
    }
  }

  async #enter(
    request: SandboxRequest,
    ref: string,
  ): Promise<{ id: string; name: string; addresses: string[] }> {
    const { containerId } = request;
    const settings = request.endpoints[ref] ?? {};
    const { IPv4Address, IPv6Address } = settings.IPAMConfig ?? {};
    const names = lower(dnsNames(settings, ownerOf(request)));
    const asked = [IPv4Address ?? '', IPv6Address ?? ''].filter((address) => address !== '');
    failpoint('network.attach.ask');
    const { addresses } = await this.#access.attach(
      { network: this.#index.lookUp(ref)?.name ?? ref, container: containerId, names, addresses: asked },
      new AbortController().signal,
    );
    const { id, name } = this.#index.find(ref);
    this.#note(containerId, name, { network: id, names, addresses });
    return { id, name, addresses };
  }

  #note(container: string, name: string, facts: Omit<AttachContainer, 'container'>): void {
    const networks = this.#attached.get(container) ?? new Map<string, AttachContainer>();
    this.#attached.set(container, networks.set(name, { ...facts, container }));
  }

  #tell({ network, container }: AttachContainer): void {
    void this.#access.detach({ network, container }).catch((error: unknown) => {
      this.#log.error(
        { network, container, err: errorText(error) },
        'the swarm was not told that a container left a network',
      );
    });
  }
}

function withAddresses(settings: EndpointSettings, addresses: readonly string[]): EndpointSettings {
  const six = addresses.find((address) => address.includes(':'));
  const four = addresses.find((address) => !address.includes(':'));
  return {
    ...settings,
    IPAMConfig: {
      ...settings.IPAMConfig,
      ...(four !== undefined && { IPv4Address: four }),
      ...(six !== undefined && { IPv6Address: six }),
    },
  };
}

function lower(names: readonly string[]): string[] {
  return names.map((name) => name.toLowerCase());
}
