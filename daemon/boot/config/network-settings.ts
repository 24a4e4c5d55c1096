import { addressPools, integer, list, mapByDriver, text, toggle } from './kinds.ts';

const ADDRESS = /^(\d{1,3}\.){3}\d{1,3}$/;
const CIDR6 = /^[0-9a-fA-F:.]+\/\d{1,3}$/;
const CIDR = /^(\d{1,3}\.){3}\d{1,3}\/\d{1,2}$/;

/** Settings of networks; part of the one table in `settings.ts`. */
export const networkSettings = {
  bridge: text({
    key: 'bridge',
    short: 'b',
    default: '',
    pattern: /^[a-zA-Z0-9_.-]{0,15}$/,
    placeholder: 'name',
    help: 'bridge of the default network (default berth0); none for no such network',
  }),
  bip: text({
    key: 'bip',
    default: '',
    pattern: new RegExp(`${CIDR.source}|^$`),
    placeholder: 'address/bits',
    help: 'address and subnet of the bridge (default: a private subnet that no route uses)',
  }),
  fixedCidr: text({
    key: 'fixed-cidr',
    default: '',
    pattern: new RegExp(`${CIDR.source}|^$`),
    placeholder: 'network/bits',
    help: 'part of the subnet of the bridge that containers get addresses from',
  }),
  ipv6: toggle({ key: 'ipv6', default: false, help: 'give the default network IPv6 addresses too' }),
  fixedCidrV6: text({
    key: 'fixed-cidr-v6',
    default: '',
    pattern: new RegExp(`${CIDR6.source}|^$`),
    placeholder: 'network/bits',
    help: 'IPv6 subnet of the default network (default: a unique local one that no route uses)',
  }),
  defaultGateway: text({
    key: 'default-gateway',
    default: '',
    pattern: new RegExp(`${ADDRESS.source}|^$`),
    placeholder: 'address',
    help: 'gateway of containers of the default network (default its bridge); in the subnet of the bridge',
  }),
  defaultGatewayV6: text({
    key: 'default-gateway-v6',
    default: '',
    pattern: /^[0-9a-fA-F:.]*$/,
    placeholder: 'address',
    help: 'gateway of containers of the default network for IPv6',
  }),
  mtu: integer({
    key: 'mtu',
    default: 1500,
    minimum: 68,
    maximum: 65535,
    help: 'largest packet on the default network',
  }),
  ip: text({
    key: 'ip',
    default: '0.0.0.0',
    pattern: ADDRESS,
    placeholder: 'address',
    help: 'host address of ports that are published without one',
  }),
  icc: toggle({ key: 'icc', default: true, help: 'let containers of the default network reach each other' }),
  ipForward: toggle({ key: 'ip-forward', default: true, help: 'switch on net.ipv4.ip_forward' }),
  ipMasq: toggle({
    key: 'ip-masq',
    default: true,
    help: 'masquerade: containers reach other hosts by the address of the host',
  }),
  iptables: toggle({
    key: 'iptables',
    default: true,
    help: 'always true: berthd filters by an nftables table of its own; false is refused',
  }),
  ip6tables: toggle({ key: 'ip6tables', default: true, help: 'always true, like iptables' }),
  hostGatewayIp: text({
    key: 'host-gateway-ip',
    default: '',
    pattern: /^[0-9a-fA-F:.]*$/,
    placeholder: 'address',
    help: 'address of host-gateway in extra hosts (default that of the default bridge)',
  }),
  defaultAddressPools: addressPools({
    key: 'default-address-pools',
    flag: 'default-address-pool',
    help: 'subnets for networks created without one: base is split into subnets of this prefix length',
  }),
  defaultNetworkOpts: mapByDriver({
    key: 'default-network-opts',
    flag: 'default-network-opt',
    help: 'option of networks of this driver that do not set it',
  }),
  userlandProxy: toggle({
    key: 'userland-proxy',
    default: false,
    help: 'always false: nftables publishes ports; true is refused',
  }),
  dns: list({
    key: 'dns',
    default: [],
    pattern: /^[0-9a-fA-F.:]+$/,
    placeholder: 'address',
    help: 'name server of containers that ask for none (default those of the host)',
  }),
  dnsOptions: list({
    key: 'dns-opts',
    flag: 'dns-opt',
    default: [],
    help: 'option of resolv.conf in containers',
  }),
  dnsSearch: list({
    key: 'dns-search',
    default: [],
    placeholder: 'domain',
    help: 'search domain in containers',
  }),
};
