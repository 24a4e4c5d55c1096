import type { NetworkSandboxes, Sandbox, SandboxRequest } from '../containers/ports.ts';
import { EngineError, errorText, internal, invalidArgument } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { newId } from '../base/ids.ts';
import { formatIp } from '../base/ip.ts';
import type { IpAddress } from '../base/ip.ts';
import type { Logger } from '../base/log.ts';
import { Rollback } from '../base/rollback.ts';
import { checkRequest } from './check-request.ts';
import type { CheckedRequest } from './check-request.ts';
import type { DefaultNetwork } from './default-network.ts';
import type { NetworkDriver } from './driver.ts';
import { addressesOf, giveAddresses, takeEndpoint } from './endpoints.ts';
import type { Endpoint, EndpointOwner } from './endpoints.ts';
import { gatewayOf } from './gateway.ts';
import type { HostFiles } from './host-files.ts';
import { hostsFile, hostsFileOfHost, resolveHostGateway } from './hosts.ts';
import type { Network } from './network.ts';
import type { NetworkOptions } from './options.ts';
import { PortAllocator } from './port-allocator.ts';
import type { NetworkKernel } from './ports.ts';
import type { NetworkRegistry } from './registry.ts';
import { containerResolver, formatResolvConf, hostResolver } from './resolv.ts';
import { bareEndpoint, portMap, publishedPorts } from './sandbox-view.ts';

export interface LiveSandbox {
  containerId: string;
  containerName: string;
  sandbox: Sandbox;
}

export interface SandboxesDeps {
  kernel: NetworkKernel;
  registry: NetworkRegistry;
  /** By name. */
  drivers: ReadonlyMap<string, NetworkDriver>;
  defaultNetwork: DefaultNetwork;
  options: NetworkOptions;
  files: HostFiles;
  log: Logger;
}

/** Containers' networks: gives each its namespace, addresses, names and ports, and takes them back. */
export class Sandboxes implements NetworkSandboxes {
  readonly #deps: SandboxesDeps;
  readonly #ports: PortAllocator;
  /** By container; those of `container:` networks are their owner's. */
  readonly #live = new Map<string, Sandbox>();

  constructor(deps: SandboxesDeps) {
    this.#deps = deps;
    this.#ports = new PortAllocator(deps);
  }

  find(ref: string): { id: string; name: string } | undefined {
    return this.#deps.registry.lookUp(ref === 'default' ? 'bridge' : ref);
  }

  driverOf(networkName: string): string {
    return this.#deps.registry.lookUp(networkName)?.driver ?? 'bridge';
  }

  validate(request: Omit<SandboxRequest, 'containerId' | 'containerName'>): void {
    this.#check(request);
  }

  async open(request: SandboxRequest): Promise<Sandbox> {
    const { containerId } = request;
    const checked = this.#check(request);
    if (this.#live.has(containerId)) {
      this.#deps.log.error({ container: containerId }, 'sandbox was still open; closing it first');
      await this.close(containerId, undefined);
    }
    const extraHosts = resolveHostGateway(checked.extraHosts, () => this.#deps.defaultNetwork.hostGateway());
    const sandbox = await this.#open(request, { ...checked, extraHosts });
    this.#register(containerId, request.containerName, sandbox);
    return sandbox;
  }

  async close(containerId: string, sandbox: Sandbox | undefined): Promise<void> {
    const live = this.#live.get(containerId);
    if (sandbox !== undefined && sandbox.ownerId !== containerId) {
      return;
    }
    const endpoints = Object.entries((live ?? sandbox)?.endpoints ?? {});
    // Only of a sandbox that is known to be open: the ports and the addresses of one that a restart found dead
    // are another container's by now.
    const ports = live === undefined ? [] : publishedPorts(live);
    failpoint('network.close.firewall');
    this.#deps.kernel.unpublish(ports);
    this.#deps.kernel.close(
      containerId,
      endpoints
        .filter(([, endpoint]) => addressesOf(endpoint).length > 0)
        .map(([, { EndpointID = '' }]) => EndpointID),
    );
    failpoint('network.close.port');
    this.#ports.give(ports);
    failpoint('network.close.address');
    for (const [name, endpoint] of live === undefined ? [] : endpoints) {
      const network = this.#deps.registry.lookUp(name);
      if (network !== undefined) {
        giveAddresses(network, addressesOf(endpoint));
      }
    }
    this.#deps.registry.leave(containerId);
    this.#live.delete(containerId);
  }

  async restore(live: readonly LiveSandbox[]): Promise<void> {
    const { kernel, defaultNetwork } = this.#deps;
    const owners = live.filter(({ containerId, sandbox }) => sandbox.ownerId === containerId);
    const ports = owners.flatMap(({ sandbox }) => publishedPorts(sandbox));
    defaultNetwork.choosePool(owners.map(({ sandbox }) => sandbox));
    const bridges = defaultNetwork.bridges();
    failpoint('network.restore.firewall');
    kernel.prepare(bridges, ports);
    this.#ports.retake(ports);
    for (const { containerId, containerName, sandbox } of owners) {
      this.#register(containerId, containerName, sandbox);
    }
    await kernel.sweep(
      bridges,
      owners
        .filter(({ sandbox }) => sandbox.netnsPath !== null)
        .map(({ containerId, sandbox }) => ({ id: containerId, endpoints: this.#attached(sandbox) })),
    );
  }

  #check(request: Omit<SandboxRequest, 'containerId' | 'containerName'>): CheckedRequest {
    const { registry, options } = this.#deps;
    return checkRequest(request, {
      find: (ref) => registry.find(ref),
      bindingAddress: (network) => (network && this.#driver(network).bindingAddress(network)) ?? options.ip,
      resolver: {
        nameservers: [...options.dns],
        search: [...options.dnsSearch],
        options: [...options.dnsOpts],
      },
    });
  }

  #open(request: SandboxRequest, checked: CheckedRequest): Promise<Sandbox> | Sandbox {
    const [main] = checked.endpoints;
    switch (main?.network.driver) {
      case 'host':
        return this.#openHost(request, checked);
      case 'null':
      case undefined:
        return this.#openIsolated(request, checked);
      default:
        return this.#openNetworks(request, checked);
    }
  }

  #openHost(request: SandboxRequest, checked: CheckedRequest): Sandbox {
    const { registry, files } = this.#deps;
    return {
      netnsPath: null,
      ownerId: request.containerId,
      endpoints: { host: bareEndpoint(registry.builtIn.host.id, newId()) },
      gateway: null,
      ports: {},
      hosts: hostsFileOfHost(files.hosts(), checked.extraHosts),
      resolvConf: formatResolvConf(hostResolver(files.resolver(), checked.resolver)),
    };
  }

  /** With the network `none`, or with none left. */
  #openIsolated(request: SandboxRequest, checked: CheckedRequest): Sandbox {
    const { registry, kernel } = this.#deps;
    const endpoint = bareEndpoint(registry.builtIn.none.id, newId());
    const plan = { attachments: [], gateways: [] };
    return {
      netnsPath: this.#inKernel(request, 'none', () => kernel.open(request.containerId, plan)),
      ownerId: request.containerId,
      endpoints: checked.endpoints.length === 0 ? {} : { none: endpoint },
      gateway: null,
      ports: {},
      ...this.#nameFiles(request, checked, []),
    };
  }

  async #openNetworks(request: SandboxRequest, checked: CheckedRequest): Promise<Sandbox> {
    const { kernel, log, defaultNetwork } = this.#deps;
    const { containerId } = request;
    const owner = ownerOf(request);
    await using rollback = new Rollback(log, { container: containerId });

    const endpoints = checked.endpoints.map((wanted) => {
      defaultNetwork.ensure(wanted.network);
      const endpoint = takeEndpoint(wanted, owner);
      rollback.defer('addresses', () => giveAddresses(wanted.network, endpoint.addresses));
      return endpoint;
    });
    const gateway = gatewayOf(endpoints);
    const ports =
      gateway === undefined
        ? []
        : this.#ports.take(checked.ports.bindings, ipsOf(gateway), `${owner.containerName} (${gateway.id})`);
    rollback.defer('host ports', () => this.#ports.give(ports));

    const plan = {
      attachments: endpoints.map((endpoint, place) => this.#attachment(endpoint, `eth${place}`)),
      gateways: gatewaysThrough(gateway),
    };
    const names = endpoints.map(({ network }) => network.name).join(', ');
    const netnsPath = this.#inKernel(request, names, () => kernel.open(containerId, plan));
    rollback.defer('namespace', () =>
      kernel.close(
        containerId,
        endpoints.map(({ id }) => id),
      ),
    );

    failpoint('network.open.firewall');
    kernel.publish(ports);
    rollback.defer('firewall', () => kernel.unpublish(ports));

    failpoint('network.open.files');
    const sandbox = {
      netnsPath,
      ownerId: containerId,
      endpoints: Object.fromEntries(endpoints.map(({ network, settings }) => [network.name, settings])),
      gateway: gateway?.network.name ?? null,
      ports: portMap(checked.ports.ports, ports),
      ...this.#nameFiles(request, checked, endpoints),
    };
    rollback.commit();
    return sandbox;
  }

  #attachment(endpoint: Endpoint, name: string): ReturnType<NetworkDriver['attachment']> {
    const { network, addresses, mac } = endpoint;
    const driver = this.#driver(network);
    const iface = { endpointId: endpoint.id, name, addresses, mac, mtu: driver.mtu(network) };
    return driver.attachment(network, iface);
  }

  /** What of a stored sandbox is plugged in where. */
  #attached(sandbox: Sandbox): Parameters<NetworkKernel['sweep']>[1][number]['endpoints'] {
    return Object.entries(sandbox.endpoints).flatMap(([name, endpoint]) => {
      const network = this.#deps.registry.lookUp(name);
      if (network === undefined || addressesOf(endpoint).length === 0) {
        return [];
      }
      const { bridge } = this.#driver(network).attachment(network, {
        endpointId: endpoint.EndpointID ?? '',
        name: '',
        addresses: [],
        mac: Buffer.alloc(6),
        mtu: 0,
      });
      return [{ endpointId: endpoint.EndpointID ?? '', bridge }];
    });
  }

  #driver(network: Network): NetworkDriver {
    const driver = this.#deps.drivers.get(network.driver);
    if (driver === undefined) {
      throw invalidArgument(`network ${network.name}: its driver ${network.driver} cannot be used here`);
    }
    return driver;
  }

  #nameFiles(
    request: SandboxRequest,
    checked: CheckedRequest,
    endpoints: readonly Endpoint[],
  ): Pick<Sandbox, 'hosts' | 'resolvConf'> {
    const { hostname, domainname } = request;
    const { extraHosts } = checked;
    const addresses = endpoints.flatMap(ipsOf).map(formatIp);
    return {
      hosts: hostsFile({ addresses, hostname, domainname, extraHosts }),
      resolvConf: formatResolvConf(containerResolver(this.#deps.files.resolver(), checked.resolver)),
    };
  }

  #inKernel(request: SandboxRequest, network: string, make: () => string): string {
    try {
      return make();
    } catch (error) {
      if (error instanceof EngineError) {
        throw error;
      }
      const name = request.containerName.replace(/^\//, '');
      throw internal(`failed to create endpoint ${name} on network ${network}: ${errorText(error)}`, {
        cause: error,
      });
    }
  }

  #register(containerId: string, containerName: string, sandbox: Sandbox): void {
    this.#live.set(containerId, sandbox);
    for (const [name, endpoint] of Object.entries(sandbox.endpoints)) {
      const network = this.#deps.registry.lookUp(name);
      if (network !== undefined) {
        this.#deps.registry.join(network, { containerId, containerName, endpoint });
        for (const { address } of addressesOf(endpoint)) {
          network.addresses.set(address, containerId);
        }
      }
    }
  }
}

function ownerOf(request: SandboxRequest): EndpointOwner {
  const { containerId, containerName, hostname } = request;
  return { containerId, containerName: containerName.replace(/^\//, ''), hostname };
}

function ipsOf({ addresses }: Endpoint): IpAddress[] {
  return addresses.map(({ address }) => address);
}

/** The routers of the network that is the way out. */
function gatewaysThrough(endpoint: Endpoint | undefined): IpAddress[] {
  const { pool, pool6 } = endpoint?.network ?? {};
  return [pool?.gateway, pool6?.gateway].filter((address) => address !== undefined);
}
