import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { BridgeSettings } from '../../../runtime/network/links/bridge.ts';
import { errorText, invalidArgument } from '../../base/errors.ts';
import { formatIp, isIpv4 } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import {
  contains,
  formatIpv4,
  formatSubnet,
  parseCidr,
  parseIpv4,
  subnetOf,
} from '../../base/addresses/ipv4.ts';
import type { Subnet } from '../../base/addresses/ipv4.ts';
import { contains6, formatSubnet6, parseCidr6, parseIpv6, subnet6Of } from '../../base/addresses/ipv6.ts';
import type { Subnet6 } from '../../base/addresses/ipv6.ts';
import type { Logger } from '../../base/logger.ts';
import type { BridgeDriver } from './bridge-driver.ts';
import {
  chooseBridgePool,
  chooseBridgePool6,
  defaultBridgeSettings,
  poolOf6,
  routerIn,
} from './default-bridge.ts';
import type { AddressPool, AddressPool6 } from '../ipam/ipam.ts';
import type { Network } from '../network.ts';
import type { NetworkOptions } from '../options.ts';
import type { NetworkKernel } from '../ports.ts';
import type { NetworkIndex } from '../network-index.ts';
import { supplies6, usedSubnets } from '../ipam/used-subnets.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** Makes the network `bridge` at the daemon's start, or at the latest when it is first needed. */
export class DefaultNetwork {
  readonly #kernel: NetworkKernel;
  readonly #registry: NetworkIndex;
  readonly #driver: BridgeDriver;
  readonly #options: NetworkOptions;
  readonly #log: Logger;

  constructor(deps: {
    kernel: NetworkKernel;
    registry: NetworkIndex;
    bridgeDriver: BridgeDriver;
    options: NetworkOptions;
    log: Logger;
  }) {
    this.#kernel = deps.kernel;
    this.#registry = deps.registry;
    this.#driver = deps.bridgeDriver;
    this.#options = deps.options;
    this.#log = deps.log;
  }

  /** Does nothing for any other network, or when it is there. */
  ensure(network: Network): void {
    if (network === this.#registry.builtIn.bridge && network.pool === undefined) {
      this.choosePool([]);
      this.#kernel.prepare(this.bridges(), []);
    }
  }

  /** What `host-gateway` in an extra host means, in any network. Throws invalid_argument where it means nothing. */
  hostGateway(): string {
    const address = this.hostGatewayIfAny();
    if (address === undefined) {
      throw invalidArgument('unable to derive the IP value for host-gateway: there is no default network');
    }
    return address;
  }

  /** Undefined without a default network. */
  hostGatewayIfAny(): string | undefined {
    const { bridge } = this.#registry.builtIn;
    if (this.#options.hostGatewayIp !== undefined) {
      return this.#options.hostGatewayIp;
    }
    if (!this.#registry.has(bridge.name)) {
      return undefined;
    }
    this.ensure(bridge);
    return formatIp(bridge.pool?.gateway ?? 0);
  }

  /** The bridges of this engine: of the default network, and of those that users made. */
  bridges(): BridgeSettings[] {
    return this.#registry
      .all()
      .filter(({ driver, pool }) => driver === this.#driver.name && pool !== undefined)
      .map((network) => this.#driver.settings(network));
  }

  /** The pools of the default bridge, if there is to be one. */
  choosePool(running: readonly Sandbox[]): void {
    const { bridge } = this.#registry.builtIn;
    const endpoints = running.flatMap((sandbox) => sandbox.endpoints['bridge'] ?? []);
    if (!this.#registry.has(bridge.name)) {
      if (endpoints.length === 0) {
        return;
      }
      this.#log.warn({}, 'bridge: none applies when no container runs in the bridge');
      this.#registry.add(bridge);
    }
    const pool = this.#pool(endpoints);
    this.#registry.storeSubnet('ipv4', formatSubnet(pool.subnet));
    const isFixed = endpoints.length > 0;
    bridge.pool = this.#routed('default-gateway', this.#options.defaultGateway, pool, isFixed);
    const pool6 = this.#pool6(endpoints);
    if (pool6 !== undefined) {
      this.#registry.storeSubnet('ipv6', formatSubnet6(pool6.subnet));
    }
    bridge.pool6 =
      pool6 && this.#routed('default-gateway-v6', this.#options.defaultGatewayV6, pool6, isFixed);
  }

  /** Removes the bridge of an earlier configuration, once there is no default network. */
  async removeUnused(): Promise<void> {
    if (this.#registry.has('bridge')) {
      return;
    }
    const { bridge } = this.#options;
    try {
      await this.#kernel.removeBridge(
        defaultBridgeSettings(this.#options, this.#kernel.linkAddresses(bridge)),
      );
    } catch (error) {
      this.#log.error({ bridge, err: error }, 'the bridge of the default network was left behind');
    }
  }

  /** A gateway that running containers' subnet does not hold waits until they are gone. */
  #routed<T extends AddressPool | AddressPool6>(
    option: string,
    router: string | undefined,
    pool: T,
    isFixed: boolean,
  ): T {
    if (router === undefined) {
      return pool;
    }
    try {
      return routerIn(option, router, pool);
    } catch (error) {
      if (!isFixed) {
        throw error;
      }
      this.#log.warn({ err: errorText(error) }, `${option} applies when no container runs in the bridge`);
      return pool;
    }
  }

  #pool([endpoint]: readonly EndpointSettings[]): AddressPool {
    const { fixedCidr, addressPools: supplies } = this.#options;
    const bip = this.#options.bip ?? this.#foreign().find(isIpv4Cidr);
    const gateway = parseIpv4(endpoint?.Gateway ?? '');
    if (gateway === undefined) {
      const previous = this.#registry.storedSubnet('ipv4');
      return chooseBridgePool({ bip, fixedCidr, supplies, previous, used: this.#usedSubnets().ipv4 });
    }
    // Running containers cannot move: they keep the bridge that they are in, whatever the configuration
    // says by now.
    const subnet = subnetOf(gateway, endpoint?.IPPrefixLen ?? 16);
    const current = `${formatIpv4(this.#own().find(isIn(subnet)) ?? gateway)}/${subnet.prefixLength}`;
    if (bip !== undefined && bip !== current) {
      this.#log.warn({ bip, current }, 'bip applies when no container runs in the bridge');
    }
    const range = parseCidr(fixedCidr ?? '')?.subnet;
    const holds =
      range !== undefined && contains(subnet, range.base) && range.prefixLength >= subnet.prefixLength;
    return chooseBridgePool({ bip: current, fixedCidr: holds ? fixedCidr : undefined, used: [] });
  }

  #pool6(endpoints: readonly EndpointSettings[]): AddressPool6 | undefined {
    const { ipv6, fixedCidrV6 } = this.#options;
    const endpoint = endpoints.find(({ IPv6Gateway = '' }) => IPv6Gateway !== '');
    const gateway = parseIpv6(endpoint?.IPv6Gateway ?? '');
    if (gateway !== undefined) {
      const subnet = subnet6Of(gateway, endpoint?.GlobalIPv6PrefixLen ?? 64);
      const current = poolOf6(subnet, this.#own().find(isIn6(subnet)) ?? gateway);
      if (!ipv6 || (fixedCidrV6 !== undefined && fixedCidrV6 !== formatSubnet6(current.subnet))) {
        this.#log.warn(
          { ipv6, fixedCidrV6, current: formatSubnet6(current.subnet) },
          'ipv6 and fixed-cidr-v6 apply when no container with an IPv6 address runs in the bridge',
        );
      }
      return current;
    }
    if (!ipv6) {
      return undefined;
    }
    const own = parseCidr6(this.#foreign().find((cidr) => !isIpv4Cidr(cidr)) ?? '');
    if (own !== undefined && fixedCidrV6 === undefined) {
      return poolOf6(own.subnet, own.address);
    }
    const supplies = supplies6(this.#options, this.#registry);
    const previous = this.#registry.storedSubnet('ipv6');
    return chooseBridgePool6({ fixedCidrV6, supplies, previous, used: this.#usedSubnets().ipv6 });
  }

  /** The bridge's own: the gateway of a container may be another. */
  #own(): IpAddress[] {
    return this.#kernel.linkAddresses(this.#options.bridge).map(({ address }) => address);
  }

  /** A bridge of the administrator brings its addresses. */
  #foreign(): string[] {
    const { isForeignBridge, bridge } = this.#options;
    return isForeignBridge
      ? this.#kernel
          .linkAddresses(bridge)
          .map(({ address, prefixLength }) => `${formatIp(address)}/${prefixLength}`)
      : [];
  }

  #usedSubnets(): ReturnType<typeof usedSubnets> {
    return usedSubnets(this.#registry, this.#kernel, new Map([[this.#driver.name, this.#driver]]));
  }
}

function isIn(subnet: Subnet): (address: IpAddress) => address is number {
  return (address): address is number => isIpv4(address) && contains(subnet, address);
}

function isIn6(subnet: Subnet6): (address: IpAddress) => address is bigint {
  return (address): address is bigint => !isIpv4(address) && contains6(subnet, address);
}

function isIpv4Cidr(cidr: string): boolean {
  return parseCidr(cidr) !== undefined;
}
