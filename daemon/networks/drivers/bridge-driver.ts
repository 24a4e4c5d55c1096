import type { SandboxInterface, Attachment } from '../../../runtime/network/attachment.ts';
import type { BridgeSettings } from '../../../runtime/network/links/bridge.ts';
import { EngineError, invalidArgument } from '../../base/errors.ts';
import { formatIp, isIpv4, parseAnyCidr } from '../../base/addresses/ip.ts';
import type { InterfaceAddress } from '../../base/addresses/ip.ts';
import { bridgeOptions } from './bridge-options.ts';
import { defaultBridgeSettings } from './default-bridge.ts';
import type { NetworkDriver } from './driver.ts';
import type { Network, NetworkSpec } from '../network.ts';
import type { NetworkOptions } from '../options.ts';
import type { NetworkKernel } from '../ports.ts';

/** Networks that are a bridge of this host. */
export class BridgeDriver implements NetworkDriver {
  readonly name = 'bridge';
  readonly scope = 'local';
  readonly publishesPorts = true;
  readonly #kernel: Pick<NetworkKernel, 'addBridge' | 'removeBridge' | 'linkAddresses'>;
  readonly #options: NetworkOptions;

  constructor(deps: {
    kernel: Pick<NetworkKernel, 'addBridge' | 'removeBridge' | 'linkAddresses'>;
    options: NetworkOptions;
  }) {
    this.#kernel = deps.kernel;
    this.#options = deps.options;
  }

  accept(spec: NetworkSpec, others: readonly Network[]): NetworkSpec {
    const { name } = bridgeOptions(spec.options);
    const rival = others.find(
      (other) => name !== undefined && other.driver === this.name && this.#linkName(other) === name,
    );
    if (rival !== undefined) {
      throw new EngineError(
        'forbidden',
        `cannot create network with bridge ${name}: conflicts with network ${rival.id} (${rival.name}): ` +
          'networks have same bridge name',
      );
    }
    const six = bridgeOptions(spec.options).sources.find((address) => !isIpv4(address));
    if (six !== undefined && !spec.enableIPv6) {
      throw invalidArgument(`network option com.docker.network.host_ipv6: ${formatIp(six)} needs EnableIPv6`);
    }
    return spec;
  }

  survey(spec: NetworkSpec): NetworkSpec {
    const { name } = bridgeOptions(spec.options);
    const found = name === undefined ? [] : this.#kernel.linkAddresses(name);
    return found.length === 0 ? spec : { ...spec, found: found.map(formatAddress) };
  }

  create(network: Network): Promise<void> {
    return this.#kernel.addBridge(this.settings(network));
  }

  remove(network: Network): Promise<void> {
    return this.#kernel.removeBridge(this.settings(network));
  }

  attachment(network: Network, iface: SandboxInterface): Attachment {
    return { bridge: this.settings(network), iface };
  }

  mtu(network: Network): number {
    return this.settings(network).mtu;
  }

  bindingAddress(network: Network): string | undefined {
    return bridgeOptions(network.spec.options).bindingAddress;
  }

  interfacePrefix(network: Network): string {
    return bridgeOptions(network.spec.options).interfacePrefix ?? 'eth';
  }

  hostLinks(network: Network): string[] {
    return [this.#linkName(network)];
  }

  settings(network: Network): BridgeSettings {
    if (network.isBuiltIn && network.pool !== undefined) {
      return defaultBridgeSettings(this.#options, addresses(network));
    }
    const { mtu, icc, masquerade, sources, inhibitIpv4 } = bridgeOptions(network.spec.options);
    return {
      name: this.#linkName(network),
      networkId: network.id,
      addresses: addresses(network),
      mtu: mtu ?? this.#options.mtu,
      internal: network.spec.internal,
      icc,
      masquerade,
      sources,
      inhibitIpv4,
      found: network.spec.found?.flatMap(addressOf) ?? [],
    };
  }

  #linkName(network: Network): string {
    return network.isBuiltIn
      ? this.#options.bridge
      : (bridgeOptions(network.spec.options).name ??
          `${this.#options.interfacePrefix}${network.id.slice(0, 10)}`);
  }
}

function addresses({ pool, pool6 }: Network): InterfaceAddress[] {
  return [pool, pool6]
    .filter((each) => each !== undefined)
    .map(({ gateway, subnet }) => ({ address: gateway, prefixLength: subnet.prefixLength }));
}

function formatAddress({ address, prefixLength }: InterfaceAddress): string {
  return `${formatIp(address)}/${prefixLength}`;
}

function addressOf(text: string): InterfaceAddress[] {
  const cidr = parseAnyCidr(text);
  return cidr === undefined ? [] : [{ address: cidr.address, prefixLength: cidr.subnet.prefixLength }];
}
