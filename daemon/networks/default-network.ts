import type { Sandbox } from '../containers/ports.ts';
import { formatIp } from '../base/ip.ts';
import { formatIpv4, formatSubnet, parseIpv4, subnetOf } from '../base/ipv4.ts';
import type { Subnet } from '../base/ipv4.ts';
import type { Logger } from '../base/log.ts';
import type { BridgeDriver } from './bridge-driver.ts';
import { chooseBridgePool } from './default-bridge.ts';
import type { AddressPool } from './ipam.ts';
import type { Network } from './network.ts';
import type { NetworkOptions } from './options.ts';
import type { BridgeSettings, NetworkKernel } from './ports.ts';
import type { NetworkRegistry } from './registry.ts';
import { usedSubnets } from './used-subnets.ts';

/** Makes the network `bridge` at the daemon's start, or at the latest when it is first needed. */
export class DefaultNetwork {
  readonly #kernel: NetworkKernel;
  readonly #registry: NetworkRegistry;
  readonly #driver: BridgeDriver;
  readonly #options: NetworkOptions;
  readonly #log: Logger;

  constructor(deps: {
    kernel: NetworkKernel;
    registry: NetworkRegistry;
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

  /** What `host-gateway` in an extra host means, in any network. */
  hostGateway(): string {
    const { bridge } = this.#registry.builtIn;
    if (this.#options.hostGatewayIp === undefined) {
      this.ensure(bridge);
    }
    return this.#options.hostGatewayIp ?? formatIp(bridge.pool?.gateway ?? 0);
  }

  /** The bridges of this engine: of the default network, and of those that users made. */
  bridges(): BridgeSettings[] {
    return this.#registry
      .all()
      .filter(({ driver, pool }) => driver === this.#driver.name && pool !== undefined)
      .map((network) => this.#driver.settings(network));
  }

  choosePool(running: readonly Sandbox[]): void {
    const wanted = { bip: this.#options.bip, fixedCidr: this.#options.fixedCidr };
    const endpoint = running.map(({ endpoints }) => endpoints['bridge']).find((each) => each !== undefined);
    const gateway = parseIpv4(endpoint?.Gateway ?? '');
    let pool: AddressPool;
    if (gateway === undefined) {
      const supplies = this.#options.addressPools;
      pool = chooseBridgePool({
        ...wanted,
        supplies,
        previous: this.#registry.storedSubnet,
        used: this.#usedSubnets(),
      });
    } else {
      // Running containers cannot move: they keep the bridge that they are in, whatever the configuration
      // says by now.
      const subnet = subnetOf(gateway, endpoint?.IPPrefixLen ?? 16);
      const bip = `${formatIpv4(gateway)}/${subnet.prefixLength}`;
      if (wanted.bip !== undefined && wanted.bip !== bip) {
        this.#log.warn({ bip: wanted.bip, current: bip }, 'bip applies when no container runs in the bridge');
      }
      pool = chooseBridgePool({ bip, used: [] });
    }
    this.#registry.storeSubnet(formatSubnet(pool.subnet));
    this.#registry.builtIn.bridge.pool = pool;
  }

  #usedSubnets(): Subnet[] {
    return usedSubnets(this.#registry, this.#kernel, new Map([[this.#driver.name, this.#driver]])).ipv4;
  }
}
