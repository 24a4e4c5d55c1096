import { isIP, isIPv4, isIPv6 } from 'node:net';
import type {
  ContainerCreateRequest,
  EndpointSettings,
  HostConfig,
  PortMap,
} from '../../../api/types/container.ts';
import { invalidArgument } from '../../base/errors.ts';
import { containerOfMode } from './namespaces.ts';
import { notSupportedYet, refuseUnlessEmpty } from './refuse.ts';

const PORT_MAX = 65_535;
const MAC_ADDRESS = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i;
/** `.` alone switches the search list off. */
const DOMAIN = /^(?:\.|[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?)$/i;
/** Stands for the address of the host as containers see it. */
const HOST_GATEWAY = 'host-gateway';

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
export function normalisePortBindings(bindings: PortMap | null | undefined): PortMap {
  return Object.fromEntries(
    Object.entries(bindings ?? {}).map(([key, values]) => {
      const port = normalisePort(key);
      if (port.endsWith('/sctp')) {
        throw notSupportedYet('PortBindings', key);
      }
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

/** Returns the address. Throws invalid_argument unless it is six pairs of hexadecimal digits. */
export function refuseBadMac(address: string): string {
  if (!MAC_ADDRESS.test(address)) {
    throw invalidArgument(`invalid MAC address: ${address}`);
  }
  return address;
}

/** The settings of resolv.conf(5) and hosts(5), checked: they end up in files line by line. */
export function nameResolution(host: HostConfig): {
  Dns: string[];
  DnsOptions: string[];
  DnsSearch: string[];
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
    Dns: host.Dns ?? [],
    DnsOptions: host.DnsOptions ?? [],
    DnsSearch: host.DnsSearch ?? [],
    ExtraHosts: host.ExtraHosts?.length ? host.ExtraHosts : null,
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
 * The endpoint of the one network a container can be in today, by the network's name. `default` means the bridge.
 * Throws invalid_argument for other networks and for what only networks made by users can do.
 */
export function resolveEndpoints(
  request: ContainerCreateRequest,
  networkMode: string,
): Record<string, EndpointSettings> {
  if (containerOfMode(networkMode) !== undefined) {
    return {};
  }
  const network = networkMode === 'default' ? 'bridge' : networkMode;
  const asked = Object.entries(request.NetworkingConfig?.EndpointsConfig ?? {});
  const settings: EndpointSettings = {};
  for (const [name, endpoint] of asked) {
    if (!['default', 'bridge', 'host', 'none'].includes(name)) {
      throw invalidArgument(`network ${name} not found`);
    }
    if ((name === 'default' ? 'bridge' : name) !== network) {
      throw invalidArgument(
        `conflicting options: cannot attach both to ${network} (NetworkMode) and to ${name} (NetworkingConfig)`,
      );
    }
    Object.assign(settings, checkEndpoint(name, endpoint ?? {}));
  }
  return { [network]: settings };
}

function checkEndpoint(name: string, endpoint: EndpointSettings): EndpointSettings {
  const ipam = endpoint.IPAMConfig ?? {};
  if (ipam.IPv4Address && !isIPv4(ipam.IPv4Address)) {
    throw invalidArgument(`invalid IPv4 address: ${ipam.IPv4Address}`);
  }
  if (ipam.IPv6Address && !isIPv6(ipam.IPv6Address)) {
    throw invalidArgument(`invalid IPv6 address: ${ipam.IPv6Address}`);
  }
  if (ipam.IPv4Address || ipam.IPv6Address || ipam.LinkLocalIPs?.length) {
    throw invalidArgument('user specified IP address is supported on user defined networks only');
  }
  if (endpoint.Aliases?.length) {
    throw invalidArgument('network-scoped alias is supported only for containers in user defined networks');
  }
  refuseUnlessEmpty(`EndpointsConfig.${name}.Links`, endpoint.Links);
  refuseUnlessEmpty(`EndpointsConfig.${name}.DriverOpts`, endpoint.DriverOpts);
  // Everything else in there is an answer of the engine that clients send back; it is made anew at start.
  return endpoint.MacAddress ? { MacAddress: refuseBadMac(endpoint.MacAddress) } : {};
}
