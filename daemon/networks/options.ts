import { BUILT_IN_SUPPLIES } from './ipam/ipam.ts';
import type { SubnetSupply, SubnetSupply6 } from '../base/addresses/free-subnet.ts';

/** What the configuration says about networks; names of keys as dockerd's where it has them. */
export interface NetworkOptions {
  /** False: containers of the default network get none. */
  hasDefaultNetwork: boolean;
  /** Interface of the default network, at most 15 bytes. */
  bridge: string;
  /** That interface is the administrator's: its addresses are used and stay. */
  isForeignBridge: boolean;
  /** Starts the names of the bridges of other networks; 10 digits of the network's id follow. */
  interfacePrefix: string;
  /** Address and subnet of the bridge, `192.168.5.1/24`; undefined = the first free of the built-in pools. */
  bip?: string;
  /** Part of the subnet that containers get addresses from. */
  fixedCidr?: string;
  /** The gateway of containers of the default network; undefined = the bridge. */
  defaultGateway?: string;
  defaultGatewayV6?: string;
  /** Containers of the default network have IPv6 addresses too. */
  ipv6: boolean;
  /** Their subnet; undefined = the first free one of `addressPools6`. */
  fixedCidrV6?: string;
  mtu: number;
  /** Containers of the default network reach each other. */
  icc: boolean;
  /** They reach other hosts by the host's address. */
  masquerade: boolean;
  /** Host address of published ports that name none. */
  ip: string;
  /** What `host-gateway` in an extra host means; undefined = the bridge's address. */
  hostGatewayIp?: string;
  /** Subnets for networks that are created without one. */
  addressPools: readonly SubnetSupply[];
  /** The same for IPv6; empty = unique local ones of the engine's own. */
  addressPools6: readonly SubnetSupply6[];
  /** By driver: options of networks that say nothing else. */
  networkDefaults: Readonly<Record<string, Readonly<Record<string, string>>>>;
  dns: readonly string[];
  dnsSearch: readonly string[];
  dnsOpts: readonly string[];
}

export const defaultNetworkOptions: NetworkOptions = {
  hasDefaultNetwork: true,
  bridge: 'berth0',
  isForeignBridge: false,
  interfacePrefix: 'berth',
  ipv6: false,
  mtu: 1500,
  icc: true,
  masquerade: true,
  ip: '0.0.0.0',
  addressPools: BUILT_IN_SUPPLIES,
  addressPools6: [],
  networkDefaults: {},
  dns: [],
  dnsSearch: [],
  dnsOpts: [],
};
