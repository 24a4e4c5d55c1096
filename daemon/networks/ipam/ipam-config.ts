import type { IpamConfig } from '../../../api/types/system.ts';
import { parseCidr, parseIpv4 } from '../../base/addresses/ipv4.ts';
import { parseCidr6, parseIpv6 } from '../../base/addresses/ipv6.ts';
import type { AddressPool, AddressPool6 } from './ipam.ts';

/** IPAM.Config of a network, checked (`daemon/base/addresses/subnet-config.ts`), as pools. Pure. */

/** Auxiliary addresses that mean something to bridges: the gateway of containers in place of the bridge itself. */
export const ROUTER_KEYS = { ipv4: 'DefaultGatewayIPv4', ipv6: 'DefaultGatewayIPv6' } as const;

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
