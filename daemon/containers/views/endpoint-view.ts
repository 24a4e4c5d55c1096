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
export type EndpointView = Required<Omit<EndpointSettings, 'DNSNames'>> & Pick<EndpointSettings, 'DNSNames'>;

/** Endpoints by network name, as both list and inspect show them. */
export function endpointViews(container: Container): Record<string, EndpointView> {
  const live = liveRun(container.state);
  const endpoints = live === undefined ? container.spec.networking : shownEndpoints(live.sandbox);
  return Object.fromEntries(
    Object.entries(endpoints).map(([name, endpoint]) => [
      name,
      { ...endpointView(endpoint), Aliases: shownAliases(container, endpoint) },
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

/** What was asked for; the short id that a connect adds is shown as such until the first start only. */
function shownAliases({ id, state }: Container, { Aliases }: EndpointSettings): string[] | null {
  const hasRun = lastRun(state).startedAtNano !== null;
  const asked = hasRun ? Aliases?.filter((name) => name !== shortId(id)) : Aliases;
  return asked === undefined || asked === null || asked.length === 0 ? null : asked;
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
    GwPriority: endpoint.GwPriority ?? 0,
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
