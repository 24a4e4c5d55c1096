import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { Attachment, DefaultRoute } from '../../../runtime/network/attachment.ts';
import { EngineError, conflict, errorText, internal, invalidArgument } from '../../base/errors.ts';
import { formatIp, isIpv4 } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import type { Logger } from '../../base/logger.ts';
import type { Turns } from '../../base/concurrency/turns.ts';
import { checkRequest } from './check-request.ts';
import type { CheckedRequest } from './check-request.ts';
import type { DefaultNetwork } from '../drivers/default-network.ts';
import type { OutletNetwork } from '../drivers/outlet-network.ts';
import type { ContainerNames } from '../dns/container-names.ts';
import type { NetworkDriver } from '../drivers/driver.ts';
import type { Endpoint } from './endpoints.ts';
import { ownerOf } from './sandbox-owner.ts';
import type { SwarmAttachments } from './swarm-attachments.ts';
import type { HostFiles } from '../files/host-files.ts';
import { hostsFile, hostsFileOfCommand, resolveHostGateway } from '../files/hosts.ts';
import { hasRouters, isUserDefined } from '../network.ts';
import type { Network } from '../network.ts';
import type { NetworkOptions } from '../options.ts';
import type { PortAllocator } from './port-allocator.ts';
import type { Sandbox, SandboxRequest } from './sandbox.ts';
import { addressesOf, routersOf } from './stored-endpoint.ts';
import type { NetworkKernel } from '../ports.ts';
import type { NetworkIndex } from '../network-index.ts';
import { containerResolver, embeddedResolver, formatResolvConf } from '../files/resolv.ts';

/** The swarm's networks on this host. */
export interface Overlays {
  /** Those that the node knew when its daemon ended are among the others from here on. */
  load(): Promise<void>;
  /** From here on they are in the kernel. */
  start(): Promise<void>;
}

/** What the verbs of sandboxes share. */
export interface SandboxContext {
  kernel: NetworkKernel;
  registry: NetworkIndex;
  /** By name. */
  drivers: ReadonlyMap<string, NetworkDriver>;
  defaultNetwork: DefaultNetwork;
  names: ContainerNames;
  options: NetworkOptions;
  files: HostFiles;
  log: Logger;
  ports: PortAllocator;
  overlays: Overlays;
  outlet: OutletNetwork;
  attachments: SwarmAttachments;
  /** Taken between pieces of work on many ports. */
  turns: Turns;
  /** By container; those of `container:` networks are their owner's. */
  live: Map<string, Sandbox>;
}

/** `mayComeLater`: what is not there yet is left out. */
export function check(
  context: SandboxContext,
  request: Omit<SandboxRequest, 'containerId' | 'containerName'>,
  { mayComeLater = false } = {},
): CheckedRequest {
  const { registry, options } = context;
  const lookUp = (ref: string): Network | undefined =>
    isDefaultName(ref) && !registry.has('bridge') ? undefined : registry.lookUp(ref);
  return checkRequest(request, {
    lookUp,
    find: (ref) => (mayComeLater || isDefaultName(ref) ? lookUp(ref) : registry.find(ref)),
    bindingAddress: (network) =>
      (network && driverOf(context, network).bindingAddress(network)) ?? options.ip,
    resolver: {
      nameservers: [...options.dns],
      search: [...options.dnsSearch],
      options: [...options.dnsOpts],
    },
  });
}

/** What the default network is called; there may be none (`bridge: none`). */
export function isDefaultName(ref: string): boolean {
  return ref === 'bridge' || ref === 'default';
}

export function driverOf({ drivers }: SandboxContext, network: Network): NetworkDriver {
  const driver = drivers.get(network.driver);
  if (driver === undefined) {
    throw invalidArgument(`network ${network.name}: its driver ${network.driver} cannot be used here`);
  }
  return driver;
}

export function attachmentOf(context: SandboxContext, endpoint: Endpoint, name: string): Attachment {
  const { id: endpointId, network, addresses, mac, options } = endpoint;
  const { linkLocal, settings } = options;
  const driver = driverOf(context, network);
  const mtu = driver.mtu(network);
  return driver.attachment(network, { endpointId, name, addresses, linkLocal, settings, mac, mtu });
}

/**
 * The name that an endpoint asks for (throws conflict when it is taken), else the first free one of its network:
 * `eth0`, `eth1`, or as the network's options say.
 */
export function interfaceName(
  context: SandboxContext,
  { network, options }: Pick<Endpoint, 'network' | 'options'>,
  taken: readonly string[],
): string {
  const asked = options.interfaceName;
  if (asked !== undefined) {
    if (taken.includes(asked)) {
      throw conflict(`network ${network.name}: the container has an interface ${asked} already`);
    }
    return asked;
  }
  const prefix = driverOf(context, network).interfacePrefix(network);
  let number = 0;
  while (taken.includes(`${prefix}${number}`)) {
    number += 1;
  }
  return `${prefix}${number}`;
}

/** Names for the interfaces of these endpoints, in their order; those that were asked for are given to no other. */
export function interfaceNames(context: SandboxContext, endpoints: readonly Endpoint[]): string[] {
  const taken = endpoints.flatMap(({ options }) => options.interfaceName ?? []);
  return endpoints.map((endpoint) => {
    const name = endpoint.options.interfaceName ?? interfaceName(context, endpoint, taken);
    taken.push(name);
    return name;
  });
}

/** Whether published ports come in through this network. */
export function canPublishPorts(context: SandboxContext, network: Network | undefined): boolean {
  return network !== undefined && driverOf(context, network).publishesPorts;
}

/** /etc/hosts and resolv.conf of a container with these endpoints, and whether it asks the engine for names. */
export function nameFiles(
  context: SandboxContext,
  request: SandboxRequest,
  checked: CheckedRequest,
  sandbox: Pick<Sandbox, 'endpoints' | 'outlet'>,
): Pick<Sandbox, 'hosts' | 'resolvConf' | 'names'> {
  const { registry, files, defaultNetwork } = context;
  const endpoints = Object.entries(sandbox.endpoints).filter(([name]) => name !== sandbox.outlet);
  const { hostname, domainname } = request;
  const extraHosts = resolveHostGateway(checked.extraHosts, () => defaultNetwork.hostGateway());
  const addresses = endpoints
    .flatMap(([, endpoint]) => addressesOf(endpoint))
    .map(({ address }) => formatIp(address));
  const hasNames = endpoints.some(([name, endpoint]) => {
    const network = registry.ofEndpoint(name, endpoint);
    return network !== undefined && isUserDefined(network);
  });
  const ipv6 = addresses.some((address) => address.includes(':'));
  const resolver = hasNames
    ? embeddedResolver(files.resolver(), checked.resolver)
    : containerResolver(files.resolver(), checked.resolver, { ipv6 });
  return {
    hosts:
      request.ofCommand === true
        ? hostsFileOfCommand({ hostname, extraHosts })
        : hostsFile({ addresses, hostname, domainname, extraHosts }),
    resolvConf: formatResolvConf(resolver),
    ...(hasNames && { names: { servers: checked.resolver.nameservers } }),
  };
}

export function ipsOf({ addresses }: Pick<Endpoint, 'addresses'>): IpAddress[] {
  return addresses.map(({ address }) => address);
}

/** Out through an endpoint in this network: to its routers, or straight out of its interface. */
export function defaultRoutesThrough(
  network: Network | undefined,
  endpoint: EndpointSettings | undefined,
): DefaultRoute[] {
  if (network === undefined || endpoint === undefined || hasRouters(network)) {
    return routersOf(endpoint).map((router) => ({ router }));
  }
  const endpointId = endpoint.EndpointID ?? '';
  return addressesOf(endpoint).map(({ address }) => ({
    endpointId,
    family: isIpv4(address) ? 'ipv4' : 'ipv6',
  }));
}

/** As `defaultRoutesThrough`, of an open sandbox in the network of this name; null = it has no default route. */
export function defaultRoutesOf(
  { registry }: SandboxContext,
  sandbox: Sandbox,
  name: string | null,
): DefaultRoute[] {
  const endpoint = sandbox.endpoints[name ?? ''];
  return name === null || endpoint === undefined
    ? []
    : defaultRoutesThrough(registry.ofEndpoint(name, endpoint), endpoint);
}

/** A failure of the kernel in words that name container and network. */
export function inKernel<T>(request: SandboxRequest, network: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw inWords(request, network, error);
  }
}

/** As `inKernel`, of what ends later. */
export async function inKernelLater<T>(
  request: SandboxRequest,
  network: string,
  make: () => Promise<T>,
): Promise<T> {
  try {
    return await make();
  } catch (error) {
    throw inWords(request, network, error);
  }
}

function inWords(request: SandboxRequest, network: string, error: unknown): EngineError {
  if (error instanceof EngineError) {
    return error;
  }
  const name = ownerOf(request).containerName;
  return internal(`failed to create endpoint ${name} on network ${network}: ${errorText(error)}`, {
    cause: error,
  });
}

/** From here on the sandbox is known: in its networks, and to the verbs. */
export function register(
  { live, registry }: SandboxContext,
  containerId: string,
  containerName: string,
  sandbox: Sandbox,
): void {
  live.set(containerId, sandbox);
  for (const [name, endpoint] of Object.entries(sandbox.endpoints)) {
    const network = registry.ofEndpoint(name, endpoint);
    if (network !== undefined) {
      registry.join(network, { containerId, containerName: containerName.replace(/^\//, ''), endpoint });
      for (const { address } of addressesOf(endpoint)) {
        network.addresses.set(address, containerId);
      }
    }
  }
}
