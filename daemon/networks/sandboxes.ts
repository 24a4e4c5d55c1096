import type { NetworkSandboxes, Sandbox, SandboxRequest } from '../containers/ports.ts';
import type { EndpointSettings } from '../../api/types/container.ts';
import { EngineError, errorText, internal, unreachable } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { newId } from '../base/ids.ts';
import { formatIpv4, formatSubnet, macOfAddress, parseIpv4, subnetOf } from '../base/ipv4.ts';
import type { Logger } from '../base/log.ts';
import { Rollback } from '../base/rollback.ts';
import { checkRequest } from './check-request.ts';
import type { CheckedRequest } from './check-request.ts';
import type { HostFiles } from './host-files.ts';
import { hostsFile, hostsFileOfHost, resolveHostGateway } from './hosts.ts';
import { chooseBridgePool, lowestFree } from './ipam.ts';
import type { AddressPool } from './ipam.ts';
import { formatMac } from './mac.ts';
import { BUILT_IN_NETWORKS } from './network-state.ts';
import type { NetworkState } from './network-state.ts';
import type { NetworkOptions } from './options.ts';
import { PortAllocator } from './port-allocator.ts';
import type { BridgeSettings, NetworkKernel } from './ports.ts';
import { containerResolver, formatResolvConf, hostResolver } from './resolv.ts';
import { bareEndpoint, portMap, publishedPorts } from './sandbox-view.ts';

export interface LiveSandbox {
  containerId: string;
  containerName: string;
  sandbox: Sandbox;
}

/** Containers' networks: gives each its namespace, address, names and ports, and takes them back. */
export class Sandboxes implements NetworkSandboxes {
  readonly #kernel: NetworkKernel;
  readonly #state: NetworkState;
  readonly #options: NetworkOptions;
  readonly #files: HostFiles;
  readonly #log: Logger;
  readonly #ports: PortAllocator;
  /** By container; those of `container:` networks are their owner's. */
  readonly #live = new Map<string, Sandbox>();
  /** Address in the default bridge -> container. */
  readonly #addresses = new Map<number, string>();

  constructor(deps: {
    kernel: NetworkKernel;
    state: NetworkState;
    options: NetworkOptions;
    files: HostFiles;
    log: Logger;
  }) {
    this.#kernel = deps.kernel;
    this.#state = deps.state;
    this.#options = deps.options;
    this.#files = deps.files;
    this.#log = deps.log;
    this.#ports = new PortAllocator(deps);
  }

  validate(request: Omit<SandboxRequest, 'containerId' | 'containerName'>): void {
    checkRequest(request, this.#options);
  }

  async open(request: SandboxRequest): Promise<Sandbox> {
    const { containerId } = request;
    const checked = checkRequest(request, this.#options);
    if (this.#live.has(containerId)) {
      this.#log.error({ container: containerId }, 'sandbox was still open; closing it first');
      await this.close(containerId, undefined);
    }
    const extraHosts = resolveHostGateway(checked.extraHosts, () => this.#hostGateway());
    const sandbox = await this.#open(request, { ...checked, extraHosts });
    this.#register(containerId, sandbox);
    return sandbox;
  }

  async close(containerId: string, sandbox: Sandbox | undefined): Promise<void> {
    const live = this.#live.get(containerId);
    const endpoint = (live ?? sandbox)?.endpoints['bridge'];
    if (sandbox !== undefined && sandbox.ownerId !== containerId) {
      return;
    }
    // Only of a sandbox that is known to be open: the ports and the address of one that a restart found dead
    // are another container's by now.
    const ports = live === undefined ? [] : publishedPorts(live);
    failpoint('network.close.firewall');
    this.#kernel.unpublish(ports);
    this.#kernel.close(containerId, endpoint?.EndpointID);
    failpoint('network.close.port');
    this.#ports.give(ports);
    failpoint('network.close.address');
    const address = parseIpv4(live?.endpoints['bridge']?.IPAddress ?? '');
    if (address !== undefined) {
      this.#addresses.delete(address);
    }
    this.#state.leave(containerId);
    this.#live.delete(containerId);
  }

  async restore(live: readonly LiveSandbox[]): Promise<void> {
    const owners = live.filter(({ containerId, sandbox }) => sandbox.ownerId === containerId);
    const ports = owners.flatMap(({ sandbox }) => publishedPorts(sandbox));
    const pool = this.#choosePool(owners);
    failpoint('network.restore.firewall');
    this.#kernel.prepare(this.#bridge(pool), ports);
    this.#state.pool = pool;
    this.#ports.retake(ports);
    for (const { containerId, sandbox } of owners) {
      this.#register(containerId, sandbox);
    }
    this.#kernel.sweep(
      this.#bridge(pool),
      owners
        .filter(({ sandbox }) => sandbox.netnsPath !== null)
        .map(({ containerId, sandbox }) => ({
          id: containerId,
          endpointId: sandbox.endpoints['bridge']?.EndpointID,
        })),
    );
  }

  async #open(request: SandboxRequest, checked: CheckedRequest): Promise<Sandbox> {
    switch (checked.network) {
      case 'host':
        return this.#openHost(request, checked);
      case 'none':
        return this.#openNone(request, checked);
      case 'bridge':
        return await this.#openBridge(request, checked);
      default:
        return unreachable(checked.network);
    }
  }

  #openHost(request: SandboxRequest, checked: CheckedRequest): Sandbox {
    return {
      netnsPath: null,
      ownerId: request.containerId,
      endpoints: { host: bareEndpoint(this.#state.networks.host.id, newId()) },
      ports: {},
      hosts: hostsFileOfHost(this.#files.hosts(), checked.extraHosts),
      resolvConf: formatResolvConf(hostResolver(this.#files.resolver(), checked.resolver)),
    };
  }

  #openNone(request: SandboxRequest, checked: CheckedRequest): Sandbox {
    return {
      netnsPath: this.#inKernel(request, 'none', () => this.#kernel.openIsolated(request.containerId)),
      ownerId: request.containerId,
      endpoints: { none: bareEndpoint(this.#state.networks.none.id, newId()) },
      ports: {},
      ...this.#nameFiles(request, checked, undefined),
    };
  }

  async #openBridge(request: SandboxRequest, checked: CheckedRequest): Promise<Sandbox> {
    const { containerId } = request;
    await using rollback = new Rollback(this.#log, { container: containerId });
    const pool = this.#pool();
    const endpointId = newId();

    const address = lowestFree(pool, 'bridge', this.#addresses);
    this.#addresses.set(address, containerId);
    rollback.defer('address', () => void this.#addresses.delete(address));

    const endpointName = `${request.containerName.replace(/^\//, '')} (${endpointId})`;
    const ports = this.#ports.take(checked.ports.bindings, address, endpointName);
    rollback.defer('host ports', () => this.#ports.give(ports));

    const mac = checked.mac ?? macOfAddress(address);
    const { prefixLength } = pool.subnet;
    const netnsPath = this.#inKernel(request, 'bridge', () =>
      this.#kernel.openBridged(containerId, this.#bridge(pool), {
        endpointId,
        address,
        prefixLength,
        gateway: pool.gateway,
        mac,
        mtu: this.#options.mtu,
      }),
    );
    rollback.defer('namespace', () => this.#kernel.close(containerId, endpointId));

    failpoint('network.open.firewall');
    this.#kernel.publish(ports);
    rollback.defer('firewall', () => this.#kernel.unpublish(ports));

    failpoint('network.open.files');
    const endpoint: EndpointSettings = {
      ...bareEndpoint(this.#state.networks.bridge.id, endpointId),
      Gateway: formatIpv4(pool.gateway),
      IPAddress: formatIpv4(address),
      IPPrefixLen: prefixLength,
      MacAddress: formatMac(mac),
    };
    const sandbox = {
      netnsPath,
      ownerId: containerId,
      endpoints: { bridge: endpoint },
      ports: portMap(checked.ports.ports, ports),
      ...this.#nameFiles(request, checked, formatIpv4(address)),
    };
    rollback.commit();
    return sandbox;
  }

  #nameFiles(
    request: SandboxRequest,
    checked: CheckedRequest,
    address: string | undefined,
  ): Pick<Sandbox, 'hosts' | 'resolvConf'> {
    const { hostname, domainname } = request;
    const { extraHosts } = checked;
    return {
      hosts: hostsFile({ address, hostname, domainname, extraHosts }),
      resolvConf: formatResolvConf(containerResolver(this.#files.resolver(), checked.resolver)),
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

  #register(containerId: string, sandbox: Sandbox): void {
    this.#live.set(containerId, sandbox);
    for (const name of BUILT_IN_NETWORKS) {
      const endpoint = sandbox.endpoints[name];
      if (endpoint !== undefined) {
        this.#state.join(name, { containerId, endpoint });
      }
    }
    const address = parseIpv4(sandbox.endpoints['bridge']?.IPAddress ?? '');
    if (address !== undefined) {
      this.#addresses.set(address, containerId);
    }
  }

  #hostGateway(): string {
    return this.#options.hostGatewayIp ?? formatIpv4(this.#pool().gateway);
  }

  /** The default bridge, made at the latest when it is first needed. */
  #pool(): AddressPool {
    if (this.#state.pool !== undefined) {
      return this.#state.pool;
    }
    const pool = this.#choosePool([]);
    this.#kernel.prepare(this.#bridge(pool), []);
    this.#state.pool = pool;
    return pool;
  }

  #choosePool(live: readonly LiveSandbox[]): AddressPool {
    const wanted = { bip: this.#options.bip, fixedCidr: this.#options.fixedCidr };
    const running = live.map(({ sandbox }) => sandbox.endpoints['bridge']).find((each) => each !== undefined);
    const gateway = parseIpv4(running?.Gateway ?? '');
    let pool: AddressPool;
    if (gateway === undefined) {
      const used = this.#kernel.hostSubnets(this.#options.bridge);
      pool = chooseBridgePool({ ...wanted, previous: this.#state.storedSubnet, used });
    } else {
      // Running containers cannot move: they keep the bridge that they are in, whatever the configuration
      // says by now.
      const subnet = subnetOf(gateway, running?.IPPrefixLen ?? 16);
      const bip = `${formatIpv4(gateway)}/${subnet.prefixLength}`;
      if (wanted.bip !== undefined && wanted.bip !== bip) {
        this.#log.warn({ bip: wanted.bip, current: bip }, 'bip applies when no container runs in the bridge');
      }
      pool = chooseBridgePool({ bip, used: [] });
    }
    this.#state.storeSubnet(formatSubnet(pool.subnet));
    return pool;
  }

  #bridge(pool: AddressPool): BridgeSettings {
    return {
      name: this.#options.bridge,
      gateway: pool.gateway,
      prefixLength: pool.subnet.prefixLength,
      mtu: this.#options.mtu,
    };
  }
}
