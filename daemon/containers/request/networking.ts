import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { HostConfig, PortMap } from '../../../api/types/host-config.ts';
import { invalidArgument } from '../../base/errors.ts';
import { containerOfMode } from './namespaces.ts';
import type { NetworkLookup } from './namespaces.ts';

const PORT_MAX = 65_535;
const MAC_ADDRESS = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i;
/** `.` alone switches the search list off. */
const DOMAIN = /^(?:\.|[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?)$/i;
/** Stands for the address of the host as containers see it. */
const HOST_GATEWAY = 'host-gateway';
/** However it is written. */
const IPV6_LOOPBACK = new BlockList();
IPV6_LOOPBACK.addAddress('::1', 'ipv6');

/** `80` or `80/tcp` as `80/tcp`. Throws invalid_argument for anything but one port of tcp, udp or sctp. */
export function normalisePort(text: string): string {
  const match = /^(\d{1,5})(?:\/(tcp|udp|sctp))?$/i.exec(text);
  const port = Number(match?.[1] ?? 0);
  if (!match || port < 1 || port > PORT_MAX) {
    throw invalidArgument(`invalid port specification: "${text}"`);
  }
  return `${port}/${(match[2] ?? 'tcp').toLowerCase()}`;
}

/** PortBindings with complete keys. Which host ports are free is decided at start. */
export function normalisePortBindings(bindings: PortMap): PortMap {
  return Object.fromEntries(
    Object.entries(bindings).map(([key, values]) => {
      const port = normalisePort(key);
      return [
        port,
        values?.map(({ HostIp = '', HostPort = '' }) => checkBinding({ HostIp, HostPort })) ?? null,
      ];
    }),
  );
}

function checkBinding(binding: { HostIp: string; HostPort: string }): { HostIp: string; HostPort: string } {
  const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(binding.HostPort) ?? [];
  const isValid =
    binding.HostPort === '' || (first !== '' && Number(first) <= Number(last) && Number(last) <= PORT_MAX);
  if (!isValid) {
    throw invalidArgument(`invalid port specification: "${binding.HostPort}"`);
  }
  if (binding.HostIp !== '' && isIP(binding.HostIp) === 0) {
    throw invalidArgument(`invalid host IP address in port binding: "${binding.HostIp}"`);
  }
  return binding;
}

/**
 * What to tell of ports at ::1: Linux takes no answers for it from a bridge, so calls there are refused. They are no
 * error, as files of compose name them beside 127.0.0.1, which clients of `localhost` go on to.
 */
export function loopbackWarnings(bindings: PortMap): string[] {
  return Object.entries(bindings).flatMap(([port, values]) =>
    (values ?? [])
      .filter(({ HostIp = '' }) => IPV6_LOOPBACK.check(HostIp, isIPv6(HostIp) ? 'ipv6' : 'ipv4'))
      .map(
        ({ HostIp = '', HostPort = '' }) =>
          `Port ${port} at [${HostIp}]:${HostPort} refuses connections: publish it at 127.0.0.1, or at an address of ` +
          'the host.',
      ),
  );
}

/** Returns the address. Throws invalid_argument unless it is six pairs of hexadecimal digits. */
export function refuseBadMac(address: string): string {
  if (!MAC_ADDRESS.test(address)) {
    throw invalidArgument(`invalid MAC address: ${address}`);
  }
  return address;
}

/** The settings of resolv.conf(5) and hosts(5), checked: they end up in files line by line. */
export function nameResolution(host: HostConfig): {
  Dns: string[] | null;
  DnsOptions: string[] | null;
  DnsSearch: string[] | null;
  ExtraHosts: string[] | null;
} {
  const dns = firstBad(host.Dns, (value) => isIP(value) !== 0);
  if (dns !== undefined) {
    throw invalidArgument(`IP address is not correctly formatted: ${dns}`);
  }
  const search = firstBad(host.DnsSearch, (value) => DOMAIN.test(value));
  if (search !== undefined) {
    throw invalidArgument(`${search} is not a valid domain`);
  }
  const option = firstBad(host.DnsOptions, (value) => /^[a-z0-9:._-]+$/i.test(value));
  if (option !== undefined) {
    throw invalidArgument(`invalid DNS option: ${JSON.stringify(option)}`);
  }
  for (const entry of host.ExtraHosts ?? []) {
    checkExtraHost(entry);
  }
  return {
    Dns: host.Dns ?? null,
    DnsOptions: host.DnsOptions ?? null,
    DnsSearch: host.DnsSearch ?? null,
    ExtraHosts: host.ExtraHosts ?? null,
  };
}

function firstBad(
  values: readonly string[] | null | undefined,
  isGood: (value: string) => boolean,
): string | undefined {
  return values?.find((value) => !isGood(value));
}

function checkExtraHost(entry: string): void {
  const colon = entry.indexOf(':');
  const [name, address] = [entry.slice(0, Math.max(colon, 0)), entry.slice(colon + 1)];
  if (name === '' || /\s/.test(name)) {
    throw invalidArgument(`bad format for add-host: ${JSON.stringify(entry)}`);
  }
  if (address !== HOST_GATEWAY && isIP(address) === 0) {
    throw invalidArgument(`invalid IP address in add-host: ${JSON.stringify(address)}`);
  }
}

/**
 * The endpoints of a container by name of their network: those of NetworkingConfig, else the one of NetworkMode. What a
 * network allows is its own to say (NetworkSandboxes.validate). Throws invalid_argument.
 */
export function resolveEndpoints(
  request: ContainerCreateRequest,
  networkMode: string,
  findNetwork: NetworkLookup,
): Record<string, EndpointSettings> {
  if (containerOfMode(networkMode) !== undefined) {
    return {};
  }
  const endpoints: Record<string, EndpointSettings> = {};
  for (const [ref, endpoint] of Object.entries(request.NetworkingConfig?.EndpointsConfig ?? {})) {
    // One that is not there may be by the start.
    endpoints[findNetwork(ref)?.name ?? ref] = normaliseEndpoint(endpoint ?? {});
  }
  const main = findNetwork(networkMode)?.name ?? networkMode;
  // Clients name the network in either place; the mode alone says nothing where it was left at its default.
  return Object.keys(endpoints).length === 0 ? { [main]: {} } : endpoints;
}

/** What a client wants of an endpoint. Everything else in there is an answer of the engine that clients send back. */
export function normaliseEndpoint(endpoint: EndpointSettings): EndpointSettings {
  const { IPv4Address, IPv6Address, LinkLocalIPs } = endpoint.IPAMConfig ?? {};
  if (IPv4Address && !isIPv4(IPv4Address)) {
    throw invalidArgument(`invalid IPv4 address: ${IPv4Address}`);
  }
  if (IPv6Address && !isIPv6(IPv6Address)) {
    throw invalidArgument(`invalid IPv6 address: ${IPv6Address}`);
  }
  for (const name of [...(endpoint.Aliases ?? []), ...(endpoint.Links ?? [])]) {
    if (!/^[\x21-\x7e]+$/.test(name)) {
      throw invalidArgument(`invalid alias or link: ${JSON.stringify(name)}`);
    }
  }
  return {
    ...((IPv4Address || IPv6Address || LinkLocalIPs?.length) && {
      IPAMConfig: {
        ...(IPv4Address && { IPv4Address }),
        ...(IPv6Address && { IPv6Address }),
        ...(LinkLocalIPs?.length && { LinkLocalIPs }),
      },
    }),
    ...(endpoint.Aliases?.length && { Aliases: endpoint.Aliases }),
    ...(endpoint.Links?.length && { Links: endpoint.Links }),
    ...(endpoint.MacAddress && { MacAddress: refuseBadMac(endpoint.MacAddress) }),
    ...(endpoint.DriverOpts &&
      Object.keys(endpoint.DriverOpts).length > 0 && { DriverOpts: endpoint.DriverOpts }),
    ...(endpoint.GwPriority && { GwPriority: endpoint.GwPriority }),
  };
}
