import type { IpamConfig, NetworkInspect } from '../../api/types/system.ts';
import { formatNano } from '../base/clock.ts';
import { formatAnySubnet, formatIp, isIpv4 } from '../base/addresses/ip.ts';
import { ROUTER_KEYS } from './ipam/ipam-config.ts';
import type { Network, NetworkMember } from './network.ts';

/** A network as clients see it. Pure. `options` are those the engine itself decided, for built-in networks. */
export function networkView(
  network: Network,
  more: {
    options: Record<string, string>;
    scope: string;
    containerName: (containerId: string) => string | undefined;
  },
): NetworkInspect {
  const { spec } = network;
  return {
    Name: network.name,
    Id: network.id,
    Created: formatNano(network.createdNano),
    Scope: more.scope,
    Driver: network.driver,
    EnableIPv4: true,
    // The default bridge has what the configuration says.
    EnableIPv6: network.isBuiltIn ? network.pool6 !== undefined : spec.enableIPv6,
    IPAM: {
      Driver: spec.ipam.driver,
      Options: spec.ipam.options,
      Config: network.isBuiltIn ? builtInConfig(network) : spec.ipam.config,
    },
    Internal: spec.internal,
    Attachable: spec.attachable,
    Ingress: spec.ingress ?? false,
    ConfigFrom: { Network: spec.configFrom ?? '' },
    ConfigOnly: spec.configOnly ?? false,
    Containers: Object.fromEntries(
      [...network.members.values()].map((member) => [
        member.containerId,
        memberView(member, more.containerName(member.containerId) ?? ''),
      ]),
    ),
    Options: network.isBuiltIn ? more.options : spec.options,
    Labels: spec.labels,
  };
}

function memberView({ endpoint }: NetworkMember, name: string): NetworkInspect['Containers'][string] {
  const { EndpointID, MacAddress, IPAddress, IPPrefixLen, GlobalIPv6Address, GlobalIPv6PrefixLen } = endpoint;
  return {
    Name: name,
    EndpointID: EndpointID ?? '',
    MacAddress: MacAddress ?? '',
    IPv4Address: IPAddress ? `${IPAddress}/${IPPrefixLen ?? 0}` : '',
    IPv6Address: GlobalIPv6Address ? `${GlobalIPv6Address}/${GlobalIPv6PrefixLen ?? 0}` : '',
  };
}

/** The default bridge's pools come from the configuration. */
function builtInConfig({ pool, pool6 }: Network): IpamConfig[] {
  return [pool, pool6]
    .filter((each) => each !== undefined)
    .map(({ subnet, range, gateway, router }) => {
      const isPart = range.base !== subnet.base || range.prefixLength !== subnet.prefixLength;
      return {
        Subnet: formatAnySubnet(subnet),
        ...(isPart ? { IPRange: formatAnySubnet(range) } : {}),
        Gateway: formatIp(gateway),
        ...(router !== undefined && {
          AuxiliaryAddresses: { [ROUTER_KEYS[isIpv4(router) ? 'ipv4' : 'ipv6']]: formatIp(router) },
        }),
      };
    });
}
