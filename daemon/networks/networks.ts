import type { NetworkInspect } from '../../api/types/system.ts';
import { formatNano } from '../base/clock.ts';
import { invalidArgument, notFound } from '../base/errors.ts';
import { formatIpv4, formatSubnet } from '../base/ipv4.ts';
import { matchesFilters } from './network-filters.ts';
import { BUILT_IN_NETWORKS } from './network-state.ts';
import type { BuiltInNetwork, NetworkState } from './network-state.ts';
import type { NetworkOptions } from './options.ts';

/** The networks as clients see them (NetworkPort of api/types/ports.ts). */
export class Networks {
  readonly #state: NetworkState;
  readonly #options: NetworkOptions;
  readonly #containerName: (containerId: string) => string | undefined;

  /** `containerName` answers the name of a container at this moment, without its slash. */
  constructor(deps: {
    state: NetworkState;
    options: NetworkOptions;
    containerName: (containerId: string) => string | undefined;
  }) {
    this.#state = deps.state;
    this.#options = deps.options;
    this.#containerName = deps.containerName;
  }

  /** With the containers in them, which the API's edge only gives to clients older than 1.28. */
  list(filters: ReadonlyMap<string, readonly string[]>): Promise<NetworkInspect[]> {
    return Promise.resolve().then(() =>
      BUILT_IN_NETWORKS.map((name) => this.#view(this.#state.networks[name])).filter((network) =>
        matchesFilters(network, filters),
      ),
    );
  }

  /** By id, name or unique id prefix, in this order. */
  inspect(ref: string): Promise<NetworkInspect> {
    return Promise.resolve().then(() => this.#view(this.#find(ref)));
  }

  #find(ref: string): BuiltInNetwork {
    const all = BUILT_IN_NETWORKS.map((name) => this.#state.networks[name]);
    const exact = all.find(({ id }) => id === ref) ?? all.find(({ name }) => name === ref);
    if (exact !== undefined) {
      return exact;
    }
    const [found, ...more] = ref === '' ? [] : all.filter(({ id }) => id.startsWith(ref));
    if (found === undefined) {
      throw notFound(`network ${ref} not found`);
    }
    if (more.length > 0) {
      throw invalidArgument(
        `network ${ref} is ambiguous (${more.length + 1} matches found based on ID prefix)`,
      );
    }
    return found;
  }

  #view(network: BuiltInNetwork): NetworkInspect {
    return {
      Name: network.name,
      Id: network.id,
      Created: formatNano(network.createdNano),
      Scope: 'local',
      Driver: network.driver,
      EnableIPv6: false,
      IPAM: { Driver: 'default', Options: null, Config: this.#ipamConfig(network) },
      Internal: false,
      Attachable: false,
      Ingress: false,
      ConfigFrom: { Network: '' },
      ConfigOnly: false,
      Containers: this.#containers(network),
      Options: network.name === 'bridge' ? this.#bridgeOptions() : {},
      Labels: {},
    };
  }

  #ipamConfig(network: BuiltInNetwork): NetworkInspect['IPAM']['Config'] {
    const { pool } = this.#state;
    if (network.name !== 'bridge' || pool === undefined) {
      return [];
    }
    const isPart =
      pool.range.base !== pool.subnet.base || pool.range.prefixLength !== pool.subnet.prefixLength;
    return [
      {
        Subnet: formatSubnet(pool.subnet),
        ...(isPart ? { IPRange: formatSubnet(pool.range) } : {}),
        Gateway: formatIpv4(pool.gateway),
      },
    ];
  }

  #containers(network: BuiltInNetwork): NetworkInspect['Containers'] {
    return Object.fromEntries(
      this.#state.members(network.name).map(({ containerId, endpoint }) => [
        containerId,
        {
          Name: this.#containerName(containerId) ?? '',
          EndpointID: endpoint.EndpointID ?? '',
          MacAddress: endpoint.MacAddress ?? '',
          IPv4Address: endpoint.IPAddress ? `${endpoint.IPAddress}/${endpoint.IPPrefixLen ?? 0}` : '',
          IPv6Address: '',
        },
      ]),
    );
  }

  #bridgeOptions(): Record<string, string> {
    return {
      'com.docker.network.bridge.default_bridge': 'true',
      'com.docker.network.bridge.enable_icc': 'true',
      'com.docker.network.bridge.enable_ip_masquerade': 'true',
      'com.docker.network.bridge.host_binding_ipv4': this.#options.ip,
      'com.docker.network.bridge.name': this.#options.bridge,
      'com.docker.network.driver.mtu': String(this.#options.mtu),
    };
  }
}
