/** What the configuration says about networks; names of keys as dockerd's where it has them. */
export interface NetworkOptions {
  /** Interface of the default network, at most 15 bytes. */
  bridge: string;
  /** Address and subnet of the bridge, `192.168.5.1/24`; undefined = the first free of the built-in pools. */
  bip?: string;
  /** Part of the subnet that containers get addresses from. */
  fixedCidr?: string;
  mtu: number;
  /** Host address of published ports that name none. */
  ip: string;
  /** What `host-gateway` in an extra host means; undefined = the bridge's address. */
  hostGatewayIp?: string;
  dns: readonly string[];
  dnsSearch: readonly string[];
  dnsOpts: readonly string[];
}

export const defaultNetworkOptions: NetworkOptions = {
  bridge: 'berth0',
  mtu: 1500,
  ip: '0.0.0.0',
  dns: [],
  dnsSearch: [],
  dnsOpts: [],
};
