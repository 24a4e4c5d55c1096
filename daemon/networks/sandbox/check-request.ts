import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import { EngineError, invalidArgument } from '../../base/errors.ts';
import { containsAny, parseIp } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import { endpointOptions, isPlain } from './endpoint-options.ts';
import type { EndpointOptions } from './endpoint-options.ts';
import { gatewayOf } from './gateway.ts';
import { parseExtraHosts } from '../files/hosts.ts';
import type { ExtraHost } from '../files/hosts.ts';
import { parseMac } from '../ipam/mac.ts';
import { hasMacs, isOfSwarm, isUserDefined } from '../network.ts';
import type { Network } from '../network.ts';
import { OUTLET } from './outlet.ts';
import { planPorts } from './port-plan.ts';
import type { PortPlan } from './port-plan.ts';
import type { SandboxRequest } from './sandbox.ts';
import { askedResolver } from '../files/resolv.ts';
import type { ResolverSettings } from '../files/resolv.ts';

/** An endpoint that a container is to have. */
export interface WantedEndpoint {
  network: Network;
  settings: EndpointSettings;
  mac: Buffer | undefined;
  /** Asked for; at most one of each family. */
  addresses: IpAddress[];
  options: EndpointOptions;
  /** Nobody asked for it: it is the way out, and is not shown. */
  isOutlet?: true;
}

/** A request that makes sense, in the engine's terms. */
export interface CheckedRequest {
  /** The network of its mode first, the outlet last; with `host` or `none` the only one. */
  endpoints: WantedEndpoint[];
  ports: PortPlan;
  resolver: ResolverSettings;
  extraHosts: ExtraHost[];
}

export interface CheckContext {
  /** Throws not_found, at a start. undefined = the default network, where there is none. */
  find: (ref: string) => Network | undefined;
  /** As `find`, of one that need not be there. */
  lookUp: (ref: string) => Network | undefined;
  /** Host address of published ports that name none, for the network that they go through. */
  bindingAddress: (network: Network | undefined) => string;
  resolver: ResolverSettings;
}

/**
 * Checks what can be checked without the kernel. Pure. Throws invalid_argument (texts of dockerd) or
 * not_found.
 */
export function checkRequest(
  request: Omit<SandboxRequest, 'containerId' | 'containerName'>,
  context: CheckContext,
): CheckedRequest {
  const asked = wantedEndpoints(request, context);
  const endpoints = [...asked, ...outletOf(asked, context)];
  if (/[\s#]/.test(request.hostname + request.domainname)) {
    throw invalidArgument(`invalid hostname "${request.hostname}" or domainname "${request.domainname}"`);
  }
  const gateway = gatewayOf(endpoints);
  return {
    endpoints,
    ports: planPorts(request, context.bindingAddress(gateway?.network)),
    resolver: askedResolver(
      { nameservers: request.dns, search: request.dnsSearch, options: request.dnsOptions },
      context.resolver,
    ),
    extraHosts: parseExtraHosts(request.extraHosts),
  };
}

/** Networks of the swarm lead nowhere but to each other: what has no other way out needs the outlet. Pure. */
export function needsOutlet(endpoints: readonly WantedEndpoint[]): boolean {
  return (
    gatewayOf(endpoints) === undefined &&
    endpoints.some(({ network }) => isOfSwarm(network) && !network.spec.internal)
  );
}

/** None where it is not needed, and none where it is not there yet. */
function outletOf(
  endpoints: readonly WantedEndpoint[],
  { lookUp }: Pick<CheckContext, 'lookUp'>,
): WantedEndpoint[] {
  const outlet = needsOutlet(endpoints) ? lookUp(OUTLET) : undefined;
  return outlet === undefined ? [] : [{ ...wantedEndpoint(outlet, {}), isOutlet: true }];
}

/** One endpoint, as it is asked for in a network. Throws invalid_argument. */
export function wantedEndpoint(network: Network, settings: EndpointSettings, mac?: string): WantedEndpoint {
  if (network.spec.configOnly === true) {
    throw new EngineError(
      'forbidden',
      `network ${network.name}: cannot create endpoint on configuration-only network`,
    );
  }
  return {
    network,
    settings,
    mac: macOf(network, settings, mac),
    addresses: isUserDefined(network) ? askedAddresses(network, settings) : refuseInBuiltIn(settings),
    options: askedOptions(network, settings),
  };
}

function wantedEndpoints(
  request: Pick<SandboxRequest, 'networkMode' | 'endpoints' | 'macAddress'>,
  { find, lookUp }: Pick<CheckContext, 'find' | 'lookUp'>,
): WantedEndpoint[] {
  const mainRef = ['', 'default'].includes(request.networkMode) ? 'bridge' : request.networkMode;
  // Where endpoints are given the mode is not used: it may be the id of a network that was removed and made anew since.
  const main = Object.keys(request.endpoints).length > 0 ? lookUp(mainRef) : find(mainRef);
  const asked = Object.entries(request.endpoints).flatMap(([ref, settings]) => {
    const network = find(ref);
    return network === undefined ? [] : [{ network, settings }];
  });
  if (asked.length === 0 && main?.isBuiltIn === true) {
    asked.push({ network: main, settings: {} });
  }
  const mode = main?.name ?? 'default';
  const isAlone = mode === 'host' || mode === 'none';
  for (const { network } of asked) {
    if (network !== main && (isAlone || network.name === 'host' || network.name === 'none')) {
      throw invalidArgument(
        `EndpointsConfig: network "${network.name}": a container in the ${mode} network cannot be connected to it`,
      );
    }
  }
  const wanted = asked
    .toSorted(
      (a, b) => rank(a.network, main) - rank(b.network, main) || (a.network.name < b.network.name ? -1 : 1),
    )
    .map(({ network, settings }) =>
      wantedEndpoint(network, settings, network === main ? request.macAddress : undefined),
    );
  refuseSameName(wanted);
  return wanted;
}

function refuseSameName(endpoints: readonly WantedEndpoint[]): void {
  const names = endpoints.flatMap(({ options }) => options.interfaceName ?? []);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) {
    throw invalidArgument(`invalid endpoint settings: two endpoints ask for the interface name "${twice}"`);
  }
}

function rank(network: Network, main: Network | undefined): number {
  return network === main ? 0 : 1;
}

function macOf(network: Network, settings: EndpointSettings, wide: string | undefined): Buffer | undefined {
  const given = [...new Set([wide, settings.MacAddress])].filter((text) => text !== undefined && text !== '');
  if (given.length > 1) {
    throw invalidArgument(
      'the container-wide MAC address must match the endpoint-specific MAC address for the main network, ' +
        'or be left empty',
    );
  }
  const [mac] = given.map((text) => parseMac(text ?? ''));
  if (mac !== undefined && (network.name === 'host' || network.name === 'none')) {
    throw invalidArgument('conflicting options: mac-address and the network mode');
  }
  if (mac !== undefined && !hasMacs(network)) {
    throw invalidArgument(
      `network ${network.name}: ipvlan interfaces do not support custom mac address assignment`,
    );
  }
  return mac;
}

function askedOptions(network: Network, settings: EndpointSettings): EndpointOptions {
  const options = endpointOptions(settings);
  if (!isPlain(options) && (network.name === 'host' || network.name === 'none')) {
    throw invalidArgument(
      `invalid endpoint settings: LinkLocalIPs, DriverOpts: in network ${network.name} there is no interface for them`,
    );
  }
  return options;
}

function askedAddresses(network: Network, { IPAMConfig }: EndpointSettings): IpAddress[] {
  return [
    ...askedAddress(network, IPAMConfig?.IPv4Address, network.pool?.subnet),
    ...askedAddress(network, IPAMConfig?.IPv6Address, network.pool6?.subnet),
  ];
}

function askedAddress(
  network: Network,
  text: string | undefined,
  subnet: Parameters<typeof containsAny>[0] | undefined,
): IpAddress[] {
  if (!text) {
    return [];
  }
  const address = parseIp(text);
  if (address === undefined) {
    throw invalidArgument(`invalid endpoint settings: invalid IP address: ${text}`);
  }
  if (subnet === undefined || !containsAny(subnet, address)) {
    throw invalidArgument(
      `invalid endpoint settings: no configured subnet of network ${network.name} contains IP address ${text}`,
    );
  }
  return [address];
}

/** What only user-defined networks can do. */
function refuseInBuiltIn(settings: EndpointSettings): [] {
  const { IPv4Address, IPv6Address } = settings.IPAMConfig ?? {};
  if (isGiven(IPv4Address) || isGiven(IPv6Address)) {
    throw invalidArgument('user specified IP address is supported on user defined networks only');
  }
  if (isGiven(settings.Aliases)) {
    throw invalidArgument('network-scoped alias is supported only for containers in user defined networks');
  }
  if (isGiven(settings.Links)) {
    throw invalidArgument('links are only supported for user-defined networks');
  }
  return [];
}

function isGiven(value: string | readonly string[] | null | undefined): boolean {
  return value !== undefined && value !== null && value.length > 0;
}
