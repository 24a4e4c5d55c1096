import type { IpamConfig, NetworkInspect } from '../../api/types/system.ts';
import { formatNano } from '../base/clock.ts';
import { formatIpv4, formatSubnet } from '../base/ipv4.ts';
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
    EnableIPv6: spec.enableIPv6,
    IPAM: {
      Driver: spec.ipam.driver,
      Options: spec.ipam.options,
      Config: network.isBuiltIn ? builtInConfig(network) : spec.ipam.config,
    },
    Internal: spec.internal,
    Attachable: spec.attachable,
    Ingress: false,
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

/** The default bridge's pool comes from the configuration. */
function builtInConfig({ pool }: Network): IpamConfig[] {
  if (pool === undefined) {
    return [];
  }
  const isPart = pool.range.base !== pool.subnet.base || pool.range.prefixLength !== pool.subnet.prefixLength;
  return [
    {
      Subnet: formatSubnet(pool.subnet),
      ...(isPart ? { IPRange: formatSubnet(pool.range) } : {}),
      Gateway: formatIpv4(pool.gateway),
    },
  ];
}
