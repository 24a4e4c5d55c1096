import { randomBytes } from 'node:crypto';
import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import { EngineError, internal } from '../../base/errors.ts';
import { newId, shortId } from '../../base/ids.ts';
import { formatIp, isIpv4 } from '../../base/addresses/ip.ts';
import type { InterfaceAddress, IpAddress } from '../../base/addresses/ip.ts';
import { macOfAddress, subnetSize } from '../../base/addresses/ipv4.ts';
import type { WantedEndpoint } from './check-request.ts';
import type { EndpointOptions } from './endpoint-options.ts';
import { bareEndpoint } from './stored-endpoint.ts';
import { lowestFree, lowestFree6 } from '../ipam/ipam.ts';
import { formatMac } from '../ipam/mac.ts';
import { hasMacs, hasRouters, isOfSwarm, isUserDefined } from '../network.ts';
import type { Network } from '../network.ts';

/** An endpoint with its addresses allocated. */
export interface Endpoint {
  id: string;
  network: Network;
  addresses: InterfaceAddress[];
  mac: Buffer;
  options: EndpointOptions;
  isOutlet: boolean;
  /** As stored and shown. */
  settings: EndpointSettings;
}

export interface EndpointOwner {
  containerId: string;
  containerName: string;
  hostname: string;
}

/**
 * Allocates addresses in the network and fills the endpoint in. Throws when one is taken or none is free; then nothing
 * is allocated.
 */
export function allocateEndpoint(wanted: WantedEndpoint, owner: EndpointOwner): Endpoint {
  const { network, settings } = wanted;
  const id = newId();
  const taken: InterfaceAddress[] = [];
  try {
    for (const address of chooseAddresses(wanted)) {
      network.addresses.set(address.address, owner.containerId);
      taken.push(address);
    }
  } catch (error) {
    releaseAddresses(network, taken);
    throw error;
  }
  const first = taken.map(({ address }) => address).find(isIpv4);
  const mac = wanted.mac ?? (first === undefined ? randomMac() : macOfAddress(first));
  return {
    id,
    network,
    addresses: taken,
    mac,
    options: wanted.options,
    isOutlet: wanted.isOutlet === true,
    settings: {
      ...bareEndpoint(network.id, id),
      ...shownAddresses(network, taken),
      MacAddress: hasMacs(network) ? formatMac(mac) : '',
      DriverOpts: settings.DriverOpts ?? null,
      IPAMConfig: settings.IPAMConfig ?? null,
      ...(isUserDefined(network) &&
        wanted.isOutlet !== true && {
          Links: settings.Links ?? null,
          Aliases: settings.Aliases ?? null,
          DNSNames: dnsNames(settings, owner),
        }),
      ...(settings.GwPriority !== undefined && { GwPriority: settings.GwPriority }),
    },
  };
}

/** Idempotent. */
export function releaseAddresses(network: Network, addresses: readonly { address: IpAddress }[]): void {
  for (const { address } of addresses) {
    network.addresses.delete(address);
  }
}

/** Names of an endpoint in its network, each once. */
export function dnsNames({ Aliases }: Pick<EndpointSettings, 'Aliases'>, owner: EndpointOwner): string[] {
  const names = [owner.containerName, ...(Aliases ?? []), shortId(owner.containerId), owner.hostname];
  return [...new Set(names.filter((name) => name !== ''))];
}

function* chooseAddresses({ network, addresses }: WantedEndpoint): Generator<InterfaceAddress> {
  const { pool, pool6, addresses: used, name } = network;
  if (isOfSwarm(network) && addresses.length === 0) {
    // Only its managers know which ones are free.
    throw internal(`network ${name}: the swarm gave the container no address`);
  }
  if (pool !== undefined) {
    const asked = addresses.find(isIpv4);
    const address = asked === undefined ? lowestFree(pool, name, used) : freeOrRefused(network, asked);
    yield { address, prefixLength: pool.subnet.prefixLength };
  }
  if (pool6 !== undefined) {
    const asked = addresses.find((address) => !isIpv4(address));
    const address = asked === undefined ? lowestFree6(pool6, name, used) : freeOrRefused(network, asked);
    yield { address, prefixLength: pool6.subnet.prefixLength };
  }
}

function freeOrRefused(network: Network, address: IpAddress): IpAddress {
  const { pool, pool6, addresses } = network;
  const isOfTheNetwork =
    address === pool?.gateway ||
    address === pool6?.gateway ||
    (isIpv4(address) ? pool?.reserved?.has(address) : pool6?.reserved?.has(address)) === true ||
    address === pool?.subnet.base ||
    (pool !== undefined && address === pool.subnet.base + subnetSize(pool.subnet) - 1);
  if (isOfTheNetwork || addresses.has(address)) {
    throw new EngineError(
      'forbidden',
      `Address already in use: ${formatIp(address)} in network ${network.name}`,
    );
  }
  return address;
}

function shownAddresses(network: Network, addresses: readonly InterfaceAddress[]): EndpointSettings {
  const { pool, pool6, spec } = network;
  const isRouted = !spec.internal && !isOfSwarm(network) && hasRouters(network);
  const shown: EndpointSettings = {};
  for (const { address, prefixLength } of addresses) {
    if (isIpv4(address)) {
      shown.IPAddress = formatIp(address);
      shown.IPPrefixLen = prefixLength;
      shown.Gateway = isRouted && pool !== undefined ? formatIp(pool.router ?? pool.gateway) : '';
    } else {
      shown.GlobalIPv6Address = formatIp(address);
      shown.GlobalIPv6PrefixLen = prefixLength;
      shown.IPv6Gateway = isRouted && pool6 !== undefined ? formatIp(pool6.router ?? pool6.gateway) : '';
    }
  }
  return shown;
}

/** Locally administered, of a single interface. */
function randomMac(): Buffer {
  const mac = randomBytes(6);
  mac[0] = 0x02;
  return mac;
}
