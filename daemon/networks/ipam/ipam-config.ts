import { EngineError, invalidArgument } from '../../base/errors.ts';
import type { IpamConfig } from '../../../api/types/system.ts';
import {
  formatAnySubnet,
  formatIp,
  isIpv4,
  isSubnet4,
  parseAnyCidr,
  parseIp,
} from '../../base/addresses/ip.ts';
import type { AnySubnet, IpAddress } from '../../base/addresses/ip.ts';
import { contains, overlaps, parseCidr, parseIpv4 } from '../../base/addresses/ipv4.ts';
import { contains6, overlaps6, parseCidr6, parseIpv6 } from '../../base/addresses/ipv6.ts';
import type { AddressPool, AddressPool6 } from './ipam.ts';

/** IPAM.Config of a network: from the client's text to pools. Pure; errors name field and value, in moby's words. */

/** Auxiliary addresses that mean something to bridges: the gateway of containers in place of the bridge itself. */
export const ROUTER_KEYS = { ipv4: 'DefaultGatewayIPv4', ipv6: 'DefaultGatewayIPv6' } as const;

/** Prefix lengths of subnets that hold a network, a gateway and containers. */
const PREFIX = { ipv4: { min: 8, max: 30 }, ipv6: { min: 16, max: 126 } } as const;

/** Checked and in canonical spelling; entries that say nothing are dropped. */
export function ipamConfigs(configs: readonly IpamConfig[], options: { ipv6: boolean }): IpamConfig[] {
  const checked = configs.filter((config) => !isEmpty(config)).map(checkConfig);
  const four = checked.filter((config) => poolOf(config) !== undefined);
  const six = checked.filter((config) => pool6Of(config) !== undefined);
  if (four.length > 1 || six.length > 1) {
    throw new EngineError('forbidden', 'IPAM.Config: a network has at most one subnet of each family');
  }
  if (six.length > 0 && !options.ipv6) {
    throw invalidArgument(`IPAM.Config: subnet ${six[0]?.Subnet} needs EnableIPv6`);
  }
  return [...four, ...six];
}

/** An entry for a subnet that the engine chose. */
export function configOf(subnet: AnySubnet): IpamConfig {
  return { Subnet: formatAnySubnet(subnet), Gateway: formatIp(firstHost(subnet)) };
}

export function poolOf(config: IpamConfig): AddressPool | undefined {
  const subnet = parseCidr(config.Subnet ?? '')?.subnet;
  return (
    subnet && {
      subnet,
      gateway: parseIpv4(config.Gateway ?? '') ?? subnet.base + 1,
      range: parseCidr(config.IPRange ?? '')?.subnet ?? subnet,
      reserved: new Set(
        Object.values(config.AuxiliaryAddresses ?? {}).flatMap((text) => parseIpv4(text) ?? []),
      ),
    }
  );
}

export function pool6Of(config: IpamConfig): AddressPool6 | undefined {
  const subnet = parseCidr6(config.Subnet ?? '')?.subnet;
  return (
    subnet && {
      subnet,
      gateway: parseIpv6(config.Gateway ?? '') ?? subnet.base + 1n,
      range: parseCidr6(config.IPRange ?? '')?.subnet ?? subnet,
      reserved: new Set(
        Object.values(config.AuxiliaryAddresses ?? {}).flatMap((text) => parseIpv6(text) ?? []),
      ),
    }
  );
}

export function overlapsAny(a: AnySubnet, b: AnySubnet): boolean {
  if (isSubnet4(a)) {
    return isSubnet4(b) && overlaps(a, b);
  }
  return !isSubnet4(b) && overlaps6(a, b);
}

export function containsAny(subnet: AnySubnet, address: IpAddress): boolean {
  if (isSubnet4(subnet)) {
    return isIpv4(address) && contains(subnet, address);
  }
  return !isIpv4(address) && contains6(subnet, address);
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

function isEmpty({ Subnet, IPRange, Gateway, AuxiliaryAddresses }: IpamConfig): boolean {
  return !Subnet && !IPRange && !Gateway && Object.keys(AuxiliaryAddresses ?? {}).length === 0;
}

function checkConfig(config: IpamConfig): IpamConfig {
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

function firstHost(subnet: AnySubnet): IpAddress {
  return isSubnet4(subnet) ? subnet.base + 1 : subnet.base + 1n;
}
