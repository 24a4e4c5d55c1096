import type { NetworkAttachment, NetworkObject } from '../../../api/types/swarm/network.ts';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { containsAny, parseAnyCidr, parseIp } from '../../../daemon/base/addresses/ip.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { NetworkAddresses, NetworkRecord } from '../../objects/network.ts';
import { headOf, timeText } from '../base/head.ts';
import { isOverlay, type KnownNetwork } from './find.ts';
import { VNI_OPTION } from './options.ts';

/** A network as clients see it beside those of their host. Pure. */
export function networkInspect({ overlay, ...record }: KnownNetwork): NetworkInspect {
  const { ipam } = overlay;
  return {
    Name: record.name,
    Id: record.id,
    Created: timeText(record.created),
    Scope: 'swarm',
    Driver: record.driver,
    EnableIPv4: true,
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

/** A network as tasks tell it. Pure. */
export function networkObject({ overlay, ...record }: KnownNetwork, revision: number): NetworkObject {
  const { [VNI_OPTION]: _vni, ...options } = overlay.options;
  const configs = overlay.ipam.config.map(({ Subnet, IPRange, Gateway }) => ({
    ...(Subnet === undefined ? {} : { Subnet }),
    ...(IPRange === undefined ? {} : { Range: IPRange }),
    ...(Gateway === undefined ? {} : { Gateway }),
  }));
  const ipam = { Driver: { Name: overlay.ipam.driver }, Configs: configs };
  return {
    ...headOf(record, revision),
    Spec: {
      Name: record.name,
      Labels: record.labels,
      DriverConfiguration: {
        Name: record.driver,
        ...(Object.keys(options).length > 0 ? { Options: options } : {}),
      },
      ...(overlay.ipv6 ? { IPv6Enabled: true as const } : {}),
      ...(overlay.internal ? { Internal: true as const } : {}),
      ...(record.attachable ? { Attachable: true as const } : {}),
      ...(record.ingress ? { Ingress: true as const } : {}),
      IPAMOptions: ipam,
      Scope: 'swarm',
    },
    DriverState: { Name: record.driver, Options: overlay.options },
    IPAMOptions: ipam,
  };
}

/** Networks change never, and many tasks are in each. */
const objects = new WeakMap<NetworkRecord, NetworkObject>();

/** What a task has in the networks that are still there, the ingress network first. From memory. */
export function attachmentsOf(
  cluster: Cluster,
  given: readonly NetworkAddresses[] | undefined,
): NetworkAttachment[] {
  const attachments = (given ?? []).flatMap(({ network, addresses }) => {
    const record = cluster.state.networks.get(network);
    return isOverlay(record) ? [attachmentOf(cluster, record, addresses)] : [];
  });
  return attachments.toSorted((a, b) => placeOf(a) - placeOf(b));
}

function placeOf({ Network }: NetworkAttachment): number {
  return Network.Spec.Ingress === true ? 0 : 1;
}

function attachmentOf(
  cluster: Cluster,
  record: KnownNetwork,
  addresses: readonly string[],
): NetworkAttachment {
  const known = objects.get(record);
  const network = known ?? networkObject(record, cluster.revisionOf('network', record.id));
  if (known === undefined) {
    objects.set(record, network);
  }
  return { Network: network, Addresses: addresses.map((address) => withPrefix(record, address)) };
}
