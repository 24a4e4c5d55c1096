import type { AssignedNetwork, NetworkEndpoint, NetworksChange } from '../../../api/types/swarm/overlay.ts';
import type {
  BalancedAddress,
  IngressSettings,
  OverlayPeer,
  OverlaySettings,
} from '../../../runtime/network/overlay/settings.ts';
import { containsAny, isIpv4, parseAnyCidr, parseIp } from '../../base/addresses/ip.ts';
import type { InterfaceAddress, IpAddress } from '../../base/addresses/ip.ts';
import { macOfAddress } from '../../base/addresses/ipv4.ts';
import { internal } from '../../base/errors.ts';
import { isEncrypted } from '../../base/overlay-options.ts';
import type { Changed, NetworkDifference, NetworkState } from './network-state.ts';

/** What an overlay network needs of the kernel, decided from what managers told. Pure. */

/** This node's own address for overlay traffic, and the port of it in the swarm. */
export type DataPath = NetworksChange['dataPath'];

/** What is to be done in the kernel for a change of one network, in this order. */
export interface KernelSteps {
  peers: { add: OverlayPeer[]; remove: OverlayPeer[] };
  balance: { changed: BalancedAddress[]; gone: IpAddress[] };
  /** Addresses of backends that are gone: what flows to them through virtual addresses is cut. */
  forget: IpAddress[];
}

/** All of one network, as the kernel is to have it. */
export interface KernelTarget {
  peers: OverlayPeer[];
  balance: BalancedAddress[];
}

const MTU_OPTION = 'com.docker.network.driver.mtu';

/** Throws what this engine cannot do for the network, as a sentence for a task's error. */
export function overlaySettings(network: AssignedNetwork, dataPath: DataPath): OverlaySettings {
  const local = parseIp(dataPath.addr);
  if (local === undefined) {
    throw internal(`network ${network.name}: this node has no address for overlay traffic yet`);
  }
  return {
    networkId: network.id,
    vni: network.vni,
    port: dataPath.port,
    local,
    mtu: mtuOf(network.options),
    gateways: gatewaysOf(network),
    encrypted: isEncrypted(network.options),
  };
}

/** As `overlaySettings`, of the ingress network. */
export function ingressSettings(network: AssignedNetwork, dataPath: DataPath): IngressSettings {
  const nodeAddresses = network.nodeAddresses.flatMap((text) => withPrefix(network, parseIp(text)));
  if (nodeAddresses.length === 0) {
    throw internal(`network ${network.name}: this node has no address in it yet`);
  }
  return { ...overlaySettings(network, dataPath), nodeAddresses };
}

/** 0 = what the underlay leaves. */
function mtuOf(options: Readonly<Record<string, string>>): number {
  const mtu = Number(options[MTU_OPTION] ?? 0);
  return Number.isInteger(mtu) && mtu > 0 ? mtu : 0;
}

/** What a difference means for the kernel. `state` is the network with the difference in it. */
export function kernelSteps(
  state: NetworkState,
  { endpoints, services }: NetworkDifference,
  dataPath: DataPath,
): KernelSteps {
  const touched = new Set<string>();
  for (const { before, after } of endpoints) {
    if (!isSameBackend(before, after)) {
      [before?.service, after?.service].forEach((id) => id !== undefined && touched.add(id));
    }
  }
  for (const { before, after } of services) {
    if (!isSameList(before?.vips ?? [], after?.vips ?? [])) {
      [before?.id, after?.id].forEach((id) => id !== undefined && touched.add(id));
    }
  }
  const changed = [...touched].flatMap((id) => balancedOf(state, id));
  const vips = new Set(services.flatMap(({ after }) => addressesOf(after?.vips ?? [])));
  const gone = services.flatMap(({ before }) => addressesOf(before?.vips ?? []));
  return {
    peers: changedPeers(state, endpoints, dataPath),
    balance: { changed, gone: gone.filter((vip) => !vips.has(vip)) },
    forget: endpoints.flatMap(forgotten),
  };
}

/** The whole of a network: what a repair compares the kernel with. */
export function kernelTarget(state: NetworkState, dataPath: DataPath): KernelTarget {
  return {
    peers: [...state.endpoints.values()]
      .filter((endpoint) => state.holder(endpoint.addresses[0] ?? '') === endpoint)
      .flatMap((endpoint) => peerOf(endpoint, dataPath)),
    balance: [...state.services.keys()].flatMap((id) => balancedOf(state, id)),
  };
}

/** What other hosts' silence, or their answer after it, means for a network; `cut`: backends that are not reached. */
export function silenceSteps(
  state: NetworkState,
  hosts: ReadonlySet<string>,
): { balance: BalancedAddress[]; cut: IpAddress[] } {
  const services = state.servicesOn(hosts);
  const cut = services
    .flatMap((service) => state.avoidedOf(service))
    .filter(({ nodeAddr }) => hosts.has(nodeAddr));
  return {
    balance: services.flatMap((service) => balancedOf(state, service)),
    cut: cut.flatMap(({ addresses }) => addressesOf(addresses)),
  };
}

function gatewaysOf(network: AssignedNetwork): InterfaceAddress[] {
  return network.ipam.config.flatMap(({ Gateway }) => withPrefix(network, parseIp(Gateway ?? '')));
}

/** With the prefix length of the network's subnet that holds it. */
function withPrefix({ ipam }: AssignedNetwork, address: IpAddress | undefined): InterfaceAddress[] {
  if (address === undefined) {
    return [];
  }
  const subnet = ipam.config
    .map(({ Subnet }) => parseAnyCidr(Subnet ?? '')?.subnet)
    .find((each) => each !== undefined && containsAny(each, address));
  const whole = isIpv4(address) ? 32 : 128;
  return [{ address, prefixLength: subnet === undefined ? whole : subnet.prefixLength }];
}

/** Each virtual address of a service with what is behind it now; none when the service is gone. */
function balancedOf(state: NetworkState, service: string): BalancedAddress[] {
  const vips = addressesOf(state.services.get(service)?.vips ?? []);
  const ready =
    vips.length === 0 ? [] : state.readyOf(service).flatMap(({ addresses }) => addressesOf(addresses));
  return vips.map((vip) => ({ vip, backends: ready.filter((each) => isIpv4(each) === isIpv4(vip)) }));
}

/**
 * Looked at by address: when one goes from an endpoint to the next, in whatever order that is told, the next one's host
 * stays.
 */
function changedPeers(
  state: NetworkState,
  endpoints: readonly Changed<NetworkEndpoint>[],
  dataPath: DataPath,
): KernelSteps['peers'] {
  const before = new Map<string, OverlayPeer>();
  const touched = new Set<string>();
  for (const each of endpoints) {
    const [peer] = each.before === undefined ? [] : peerOf(each.before, dataPath);
    const address = each.before?.addresses[0];
    if (peer !== undefined && address !== undefined) {
      before.set(address, peer);
    }
    [address, each.after?.addresses[0]].forEach((text) => text !== undefined && touched.add(text));
  }
  const peers: KernelSteps['peers'] = { add: [], remove: [] };
  for (const address of touched) {
    const old = before.get(address);
    const holder = state.holder(address);
    const [fresh] = holder === undefined ? [] : peerOf(holder, dataPath);
    if (isSamePeer(old, fresh)) {
      continue;
    }
    peers.remove.push(...(old === undefined ? [] : [old]));
    peers.add.push(...(fresh === undefined ? [] : [fresh]));
  }
  return peers;
}

/** None for what is on this node, and for what has no address that can be told. */
function peerOf({ addresses: texts, nodeAddr }: NetworkEndpoint, dataPath: DataPath): OverlayPeer[] {
  const addresses = addressesOf(texts);
  const four = addresses.find(isIpv4);
  const host = parseIp(nodeAddr);
  return four === undefined || host === undefined || host === parseIp(dataPath.addr)
    ? []
    : [{ mac: macOfAddress(four), addresses, host }];
}

function isSamePeer(a: OverlayPeer | undefined, b: OverlayPeer | undefined): boolean {
  if (a === undefined || b === undefined) {
    return a === b;
  }
  return a.host === b.host && isSameList(a.addresses, b.addresses);
}

/** On another host it may be reached where it was not, or the other way round. */
function isSameBackend(a: NetworkEndpoint | undefined, b: NetworkEndpoint | undefined): boolean {
  return (
    a?.service === b?.service &&
    a?.isReady === b?.isReady &&
    a?.nodeAddr === b?.nodeAddr &&
    isSameList(a?.addresses ?? [], b?.addresses ?? [])
  );
}

function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((each, place) => each === b[place]);
}

/** Addresses of a backend that it has no longer. */
function forgotten({ before, after }: Changed<NetworkEndpoint>): IpAddress[] {
  if (before?.service === undefined) {
    return [];
  }
  return addressesOf(before.addresses.filter((address) => after?.addresses.includes(address) !== true));
}

function addressesOf(texts: readonly string[]): IpAddress[] {
  return texts.flatMap((text) => parseIp(text) ?? []);
}
