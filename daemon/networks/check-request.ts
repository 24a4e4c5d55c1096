import type { EndpointSettings } from '../../api/types/container.ts';
import type { SandboxRequest } from '../containers/ports.ts';
import { invalidArgument, notFound } from '../base/errors.ts';
import { parseExtraHosts } from './hosts.ts';
import type { ExtraHost } from './hosts.ts';
import { parseMac } from './mac.ts';
import type { BuiltInName } from './network-state.ts';
import type { NetworkOptions } from './options.ts';
import { planPorts } from './port-plan.ts';
import type { PortPlan } from './port-plan.ts';
import { askedResolver } from './resolv.ts';
import type { ResolverSettings } from './resolv.ts';

/** A request that makes sense, in the engine's terms. */
export interface CheckedRequest {
  network: BuiltInName;
  mac: Buffer | undefined;
  ports: PortPlan;
  resolver: ResolverSettings;
  extraHosts: ExtraHost[];
}

/**
 * Checks what can be checked without the kernel. Pure. Throws invalid_argument (texts of dockerd) or
 * not_found.
 */
export function checkRequest(
  request: Omit<SandboxRequest, 'containerId' | 'containerName'>,
  options: NetworkOptions,
): CheckedRequest {
  const network = builtInNetwork(request.networkMode);
  const mac = checkEndpoints(network, request);
  if (/[\s#]/.test(request.hostname + request.domainname)) {
    throw invalidArgument(`invalid hostname "${request.hostname}" or domainname "${request.domainname}"`);
  }
  return {
    network,
    mac,
    ports: planPorts(request, options.ip),
    resolver: askedResolver(
      { nameservers: request.dns, search: request.dnsSearch, options: request.dnsOptions },
      { nameservers: [...options.dns], search: [...options.dnsSearch], options: [...options.dnsOpts] },
    ),
    extraHosts: parseExtraHosts(request.extraHosts),
  };
}

/** The built-in network that a network mode names. Throws not_found for any other. */
export function builtInNetwork(mode: string): BuiltInName {
  switch (mode) {
    case '':
    case 'default':
    case 'bridge':
      return 'bridge';
    case 'host':
    case 'none':
      return mode;
    default:
      throw notFound(`network ${mode} not found`);
  }
}

function checkEndpoints(
  network: BuiltInName,
  request: Pick<SandboxRequest, 'endpoints' | 'macAddress'>,
): Buffer | undefined {
  for (const [name, endpoint] of Object.entries(request.endpoints)) {
    if (builtInNetwork(name) !== network) {
      throw invalidArgument(
        `EndpointsConfig: network "${name}": a container in the ${network} network cannot be connected to it`,
      );
    }
    checkEndpoint(endpoint);
  }
  const given = [request.macAddress, ...Object.values(request.endpoints).map(({ MacAddress }) => MacAddress)];
  const asked = [...new Set(given.filter((text) => text !== undefined && text !== ''))].map(String);
  if (asked.length > 1) {
    throw invalidArgument(
      'the container-wide MAC address must match the endpoint-specific MAC address for the main network, ' +
        'or be left empty',
    );
  }
  const [mac] = asked.map(parseMac);
  if (mac !== undefined && network !== 'bridge') {
    throw invalidArgument('conflicting options: mac-address and the network mode');
  }
  return mac;
}

/** What only user-defined networks can do. */
function checkEndpoint(endpoint: EndpointSettings): void {
  const ipam = endpoint.IPAMConfig ?? {};
  if (isGiven(ipam.IPv4Address) || isGiven(ipam.IPv6Address) || isGiven(ipam.LinkLocalIPs)) {
    throw invalidArgument('user specified IP address is supported on user defined networks only');
  }
  if (isGiven(endpoint.Aliases)) {
    throw invalidArgument('network-scoped alias is supported only for containers in user defined networks');
  }
  if (isGiven(endpoint.Links)) {
    throw invalidArgument('links are only supported for user-defined networks');
  }
  if (endpoint.DriverOpts && Object.keys(endpoint.DriverOpts).length > 0) {
    throw invalidArgument('EndpointsConfig: DriverOpts is not supported yet');
  }
}

function isGiven(value: string | readonly string[] | null | undefined): boolean {
  return value !== undefined && value !== null && value.length > 0;
}
