import type { PortMap } from '../../../api/types/host-config.ts';
import type { PublishedPort } from '../../../runtime/network/firewall/ruleset.ts';
import type { Protocol } from '../../../runtime/network/port-reservations.ts';
import { formatIp, isIpv4, parseIp } from '../../base/addresses/ip.ts';
import type { Sandbox } from './sandbox.ts';
import { addressesOf } from './stored-endpoint.ts';

/** Converts between published ports of the kernel and the stored JSON of a sandbox. Pure. */

/** NetworkSettings.Ports: host bindings of what is published, null for what is only exposed. */
export function portMap(exposed: readonly string[], published: readonly PublishedPort[]): PortMap {
  const map: PortMap = Object.fromEntries(exposed.map((port) => [port, null]));
  for (const { protocol, containerPort, hostAddress, hostPort } of published) {
    const key = `${containerPort}/${protocol}`;
    map[key] = [...(map[key] ?? []), { HostIp: formatIp(hostAddress), HostPort: String(hostPort) }];
  }
  return map;
}

/** What `portMap` and the endpoint of the gateway say is published; the reverse of `portMap`. */
export function publishedPorts(sandbox: Pick<Sandbox, 'endpoints' | 'ports' | 'gateway'>): PublishedPort[] {
  // Sandboxes stored before there were other networks name no gateway.
  const endpoint = sandbox.endpoints[sandbox.gateway ?? 'bridge'];
  const addresses = endpoint === undefined ? [] : addressesOf(endpoint).map(({ address }) => address);
  return Object.entries(sandbox.ports).flatMap(([key, bindings]) => {
    const [containerPort, protocol] = key.split('/');
    return (bindings ?? []).flatMap(({ HostIp, HostPort }) => {
      const hostAddress = parseIp(HostIp ?? '') ?? 0;
      const address = addresses.find((each) => isIpv4(each) === isIpv4(hostAddress));
      return address === undefined
        ? []
        : [
            {
              protocol: protocolOf(protocol),
              hostAddress,
              hostPort: Number(HostPort),
              address,
              containerPort: Number(containerPort),
            },
          ];
    });
  });
}

function protocolOf(text: string | undefined): Protocol {
  return text === 'udp' || text === 'sctp' ? text : 'tcp';
}
