import type { PortSummary } from '../../../api/types/container.ts';
import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { PortMap } from '../../../api/types/host-config.ts';
import { shortId } from '../../base/ids.ts';
import type { Container } from '../state/container.ts';
import { shownEndpoints } from '../state/shown-endpoints.ts';
import { lastRun, liveRun } from '../state/state-facts.ts';

/** Networks without names. */
const BUILT_IN_NETWORKS: ReadonlySet<string> = new Set(['bridge', 'host', 'none']);

/** An endpoint with every field the API promises, empty where the container is not running. */
export type EndpointView = Required<Omit<EndpointSettings, 'DNSNames' | 'GwPriority'>> &
  Pick<EndpointSettings, 'DNSNames' | 'GwPriority'>;

/** Endpoints by network name, as both list and inspect show them. */
export function endpointViews(container: Container): Record<string, EndpointView> {
  const live = liveRun(container.state);
  const endpoints = live === undefined ? container.spec.networking : shownEndpoints(live.sandbox);
  return Object.fromEntries(
    Object.entries(endpoints).map(([name, endpoint]) => [
      name,
      { ...endpointView(endpoint), Aliases: shownAliases(container, name, endpoint) },
    ]),
  );
}

/** An endpoint that `connect` adds: in networks of users the short id is an alias, also before the first start. */
export function connectedEndpoint(
  { id }: Container,
  network: string,
  endpoint: EndpointSettings,
): EndpointSettings {
  return BUILT_IN_NETWORKS.has(network)
    ? endpoint
    : { ...endpoint, Aliases: [...new Set([...(endpoint.Aliases ?? []), shortId(id)])] };
}

/**
 * Up to API 1.44 in networks of users with the short id from the first start on, or from a connect before it:
 * docker-compose 1 connects anew, with links and without aliases if need be, where it is missing.
 */
function shownAliases(
  { id, state }: Container,
  network: string,
  { Aliases }: EndpointSettings,
): string[] | null {
  const names = Aliases ?? [];
  const hasRun = lastRun(state).startedAtNano !== null;
  return !hasRun || BUILT_IN_NETWORKS.has(network) || names.includes(shortId(id))
    ? (Aliases ?? null)
    : [...names, shortId(id)];
}

function endpointView(endpoint: EndpointSettings): EndpointView {
  return {
    IPAMConfig: endpoint.IPAMConfig ?? null,
    Links: endpoint.Links ?? null,
    Aliases: endpoint.Aliases ?? null,
    MacAddress: endpoint.MacAddress ?? '',
    DriverOpts: endpoint.DriverOpts ?? null,
    NetworkID: endpoint.NetworkID ?? '',
    EndpointID: endpoint.EndpointID ?? '',
    Gateway: endpoint.Gateway ?? '',
    IPAddress: endpoint.IPAddress ?? '',
    IPPrefixLen: endpoint.IPPrefixLen ?? 0,
    IPv6Gateway: endpoint.IPv6Gateway ?? '',
    GlobalIPv6Address: endpoint.GlobalIPv6Address ?? '',
    GlobalIPv6PrefixLen: endpoint.GlobalIPv6PrefixLen ?? 0,
    DNSNames: endpoint.DNSNames ?? null,
    ...(endpoint.GwPriority !== undefined && { GwPriority: endpoint.GwPriority }),
  };
}

/** Ports of a running container: those bound, and with null those only declared. */
export function portMap(container: Container): PortMap {
  const live = liveRun(container.state);
  if (live === undefined || live.sandbox.ownerId !== container.id || live.sandbox.netnsPath === null) {
    return {};
  }
  const declared = Object.keys(container.spec.config.ExposedPorts ?? {});
  return { ...Object.fromEntries(declared.map((port) => [port, null])), ...live.sandbox.ports };
}

/** The same, one entry per binding, as the list shows them. */
export function portSummaries(container: Container): PortSummary[] {
  return Object.entries(portMap(container)).flatMap(([port, bindings]) => {
    const [number = '', type = 'tcp'] = port.split('/');
    const PrivatePort = Number(number);
    if (bindings === null || bindings.length === 0) {
      return [{ PrivatePort, Type: type }];
    }
    return bindings.map(({ HostIp = '', HostPort = '' }) => ({
      ...(HostIp !== '' && { IP: HostIp }),
      PrivatePort,
      PublicPort: Number(HostPort),
      Type: type,
    }));
  });
}
