import type { EndpointSettings } from '../../api/types/endpoint.ts';
import type { StringMap } from '../../api/types/maps.ts';
import type { IpamConfig } from '../../api/types/system.ts';
import type { IpAddress } from '../base/addresses/ip.ts';
import type { AddressPool, AddressPool6 } from './ipam/ipam.ts';

export const OVERLAY_DRIVER = 'overlay';

export const BUILT_IN_NETWORKS = ['bridge', 'host', 'none'] as const;
export type BuiltInName = (typeof BUILT_IN_NETWORKS)[number];

/** What a network is to be, for as long as it lives: the JSON of its row. Checked, with every default filled in. */
export interface NetworkSpec {
  internal: boolean;
  attachable: boolean;
  enableIPv6: boolean;
  ipam: { driver: string; options: StringMap | null; config: IpamConfig[] };
  options: StringMap;
  labels: StringMap;
  /** It holds these settings for other networks and has nothing on the host. */
  configOnly?: boolean;
  /** Name of the network that this was taken from. */
  configFrom?: string;
  /** It is the one of the swarm through which published ports come. */
  ingress?: boolean;
  /** Addresses, `10.0.0.1/24`, that a bridge of the administrator had before it was this network's: they stay. */
  found?: string[];
}

/** A container in a network. */
export interface NetworkMember {
  containerId: string;
  containerName: string;
  endpoint: EndpointSettings;
}

/** What the swarm knows of names in a network. */
export interface SwarmNames {
  /** `name` is in lower case. undefined = the swarm knows no such name there; no address = it has none now. */
  find(name: string): FoundName | undefined;
  /** The container or the service that has an address. */
  nameAt(address: IpAddress): string | undefined;
}

export interface FoundName {
  addresses: readonly IpAddress[];
  /** They are those of tasks, which come and go. */
  changesOften: boolean;
}

/** A network in memory: its row or built-in facts, and its endpoints. */
export interface Network {
  readonly id: string;
  readonly name: string;
  readonly driver: string;
  readonly createdNano: bigint;
  readonly isBuiltIn: boolean;
  readonly spec: NetworkSpec;
  /** Undefined where the engine allocates none of that family. The default bridge gets its own when it is made. */
  pool: AddressPool | undefined;
  pool6: AddressPool6 | undefined;
  /** By container; lives in memory, because a sandbox is stored with its container. */
  readonly members: Map<string, NetworkMember>;
  /** The containers of a name (in lower case); of user-defined networks. */
  readonly names: Map<string, Set<NetworkMember>>;
  /** Allocated address -> container. */
  readonly addresses: Map<IpAddress, string>;
  /** Of networks of swarm scope: what was told last, for as long as the network is there. */
  swarmNames: SwarmNames | undefined;
}

/** A network without endpoints. */
export function newNetwork(
  facts: Pick<Network, 'id' | 'name' | 'driver' | 'createdNano' | 'isBuiltIn' | 'spec'> & {
    pool?: AddressPool | undefined;
    pool6?: AddressPool6 | undefined;
  },
): Network {
  return {
    pool: undefined,
    pool6: undefined,
    ...facts,
    members: new Map(),
    names: new Map(),
    addresses: new Map(),
    swarmNames: undefined,
  };
}

/** A network that a user made: names are resolved in it, addresses and aliases may be chosen. */
export function isUserDefined(network: Network): boolean {
  return !network.isBuiltIn;
}

/** Known in the whole swarm: its managers choose what is in it, and it leads nowhere else. */
export function isOfSwarm({ driver }: Pick<Network, 'driver'>): boolean {
  return driver === OVERLAY_DRIVER;
}

/** Whether its containers have MAC addresses of their own. */
export function hasMacs(network: Network): boolean {
  return network.driver !== 'ipvlan';
}

/** Whether its containers reach other networks through a gateway: ipvlans of layer 3 use the host's own routes. */
export function hasRouters({ driver, spec }: Network): boolean {
  return driver !== 'ipvlan' || !['l3', 'l3s'].includes(spec.options['ipvlan_mode'] ?? '');
}

/** A container is in it, or about to be. */
export function isInUse(network: Network): boolean {
  return network.members.size > 0 || network.addresses.size > 0;
}
