import type { NetworkInspect } from '../../../api/types/system.ts';
import { containsAny, parseAnyCidr, parseIp } from '../../../daemon/base/addresses/ip.ts';
import type { NetworkRecord } from '../../objects/network.ts';
import { timeText } from '../base/head.ts';
import type { KnownNetwork } from './find.ts';

/** A network as clients see it beside those of their host. Pure. */
export function networkInspect({ overlay, ...record }: KnownNetwork): NetworkInspect {
  const { ipam } = overlay;
  return {
    Name: record.name,
    Id: record.id,
    Created: timeText(record.created),
    Scope: 'swarm',
    Driver: record.driver,
    EnableIPv6: overlay.ipv6,
    IPAM: { Driver: ipam.driver, Options: ipam.options, Config: ipam.config },
    Internal: overlay.internal,
    Attachable: record.attachable,
    Ingress: record.ingress,
    ConfigFrom: { Network: '' },
    ConfigOnly: false,
    Containers: {},
    Options: overlay.options,
    Labels: record.labels,
  };
}

/** An address of a network with the length of its subnet; as it is where the network has no such. Pure. */
export function withPrefix(network: NetworkRecord | undefined, address: string): string {
  const parsed = parseIp(address);
  for (const { Subnet = '' } of network?.overlay?.ipam.config ?? []) {
    const subnet = parseAnyCidr(Subnet)?.subnet;
    if (parsed !== undefined && subnet !== undefined && containsAny(subnet, parsed)) {
      return `${address}/${subnet.prefixLength}`;
    }
  }
  return address;
}
