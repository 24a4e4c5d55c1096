import { EngineError, invalidArgument } from '../errors.ts';
import {
  containsAny,
  firstHost,
  formatAnySubnet,
  formatIp,
  isSubnet4,
  overlapsAny,
  parseAnyCidr,
  parseIp,
} from './ip.ts';
import type { AnySubnet, IpAddress } from './ip.ts';
import { parseCidr } from './ipv4.ts';
import { parseCidr6 } from './ipv6.ts';

/** An entry of IPAM.Config of a network, of one host or of a swarm. */
export interface SubnetConfig {
  Subnet?: string;
  IPRange?: string;
  Gateway?: string;
  AuxiliaryAddresses?: Record<string, string> | null;
}

/** Prefix lengths of subnets that hold a network, a gateway and containers. */
const PREFIX = { ipv4: { min: 8, max: 30 }, ipv6: { min: 16, max: 126 } } as const;

/**
 * Checked and in canonical spelling, IPv4 first, of each family at most one; entries that say nothing are dropped.
 * Errors name field and value, in moby's words. Pure.
 */
export function subnetConfigs(configs: readonly SubnetConfig[], options: { ipv6: boolean }): SubnetConfig[] {
  const checked = configs.filter((config) => !isEmpty(config)).map(checkConfig);
  const four = checked.filter(({ Subnet = '' }) => parseCidr(Subnet) !== undefined);
  const six = checked.filter(({ Subnet = '' }) => parseCidr6(Subnet) !== undefined);
  if (four.length > 1 || six.length > 1) {
    throw new EngineError('forbidden', 'IPAM.Config: a network has at most one subnet of each family');
  }
  if (six.length > 0 && !options.ipv6) {
    throw invalidArgument(`IPAM.Config: subnet ${six[0]?.Subnet} needs EnableIPv6`);
  }
  return [...four, ...six];
}

/** An entry for a subnet that the engine chose. */
export function configOf(subnet: AnySubnet): SubnetConfig {
  return { Subnet: formatAnySubnet(subnet), Gateway: formatIp(firstHost(subnet)) };
}

/** Throws forbidden, as dockerd, when a subnet is one that another network has already. */
export function refuseOverlap(
  subnet: AnySubnet,
  others: readonly { name: string; subnet: AnySubnet }[],
): void {
  const other = others.find((each) => overlapsAny(subnet, each.subnet));
  if (other !== undefined) {
    throw new EngineError(
      'forbidden',
      `invalid pool request: Pool overlaps with other one on this address space: ${formatAnySubnet(subnet)} with ` +
        `${formatAnySubnet(other.subnet)} of network ${other.name}`,
    );
  }
}

function isEmpty({ Subnet, IPRange, Gateway, AuxiliaryAddresses }: SubnetConfig): boolean {
  return !Subnet && !IPRange && !Gateway && Object.keys(AuxiliaryAddresses ?? {}).length === 0;
}

function checkConfig(config: SubnetConfig): SubnetConfig {
  if (!config.Subnet) {
    throw invalidArgument('IPAM.Config: Subnet is missing: a range, gateway or auxiliary address needs one');
  }
  const subnet = subnetOf('subnet', config.Subnet);
  const { min, max } = isSubnet4(subnet) ? PREFIX.ipv4 : PREFIX.ipv6;
  if (subnet.prefixLength < min || subnet.prefixLength > max) {
    throw invalidArgument(`invalid subnet ${config.Subnet}: expected a prefix length from ${min} to ${max}`);
  }
  const range = config.IPRange ? subnetOf('ip-range', config.IPRange) : undefined;
  if (range && (!containsAny(subnet, range.base) || range.prefixLength < subnet.prefixLength)) {
    throw invalidArgument(
      `invalid ip-range ${config.IPRange}: parent subnet ${config.Subnet} doesn't contain ip-range`,
    );
  }
  const gateway = config.Gateway ? addressIn('gateway address', config.Gateway, subnet) : firstHost(subnet);
  const auxiliary = Object.entries(config.AuxiliaryAddresses ?? {}).map(
    ([name, text]) => [name, formatIp(addressIn(`auxiliary address`, text, subnet))] as const,
  );
  refuseTwice([formatIp(gateway), ...auxiliary.map(([, address]) => address)]);
  return {
    Subnet: formatAnySubnet(subnet),
    ...(range && { IPRange: formatAnySubnet(range) }),
    ...(config.Gateway && { Gateway: formatIp(gateway) }),
    ...(auxiliary.length > 0 && { AuxiliaryAddresses: Object.fromEntries(auxiliary) }),
  };
}

function refuseTwice(addresses: readonly string[]): void {
  const twice = addresses.find((address, place) => addresses.indexOf(address) !== place);
  if (twice !== undefined) {
    throw new EngineError('forbidden', `IPAM.Config: Address already in use: ${twice} is given to two`);
  }
}

function subnetOf(what: string, text: string): AnySubnet {
  const cidr = parseAnyCidr(text);
  if (cidr === undefined) {
    throw invalidArgument(`invalid ${what} ${text}: invalid CIDR block notation`);
  }
  if (cidr.address !== cidr.subnet.base) {
    throw invalidArgument(`invalid ${what} ${text}: it should be ${formatAnySubnet(cidr.subnet)}`);
  }
  return cidr.subnet;
}

/** Some clients write the gateway with the prefix length of its subnet. */
function addressIn(what: string, text: string, subnet: AnySubnet): IpAddress {
  const address = parseIp(text.replace(/\/\d+$/, ''));
  if (address === undefined) {
    throw invalidArgument(`invalid ${what} ${text}: not an IP address`);
  }
  if (!containsAny(subnet, address)) {
    throw invalidArgument(
      `invalid ${what} ${text}: parent subnet ${formatAnySubnet(subnet)} doesn't contain this address`,
    );
  }
  return address;
}
