import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import { isIpv4, parseIp } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import { limits } from '../../base/limits.ts';
import type { FoundName, Network } from '../network.ts';
import { addressesOf } from '../sandbox/stored-endpoint.ts';
import { TYPE, addressOfPointer } from './message.ts';
import type { RecordData } from './message.ts';

/** A network as one of its containers sees it. */
export interface VisibleNetwork {
  network: Network;
  /** Names that only this container has for others of the network: alias -> name. */
  links: ReadonlyMap<string, string>;
}

export interface LocalAnswer {
  /** None: the name is known, but has no address of that kind. */
  records: RecordData[];
  ttlS: number;
}

/**
 * What the networks of a container know of a name, undefined when no network knows it. `name` is in lower case. Several
 * addresses come in another order each time. Pure but for `random`, which answers 0 to less than 1.
 */
export function localAnswer(
  networks: readonly VisibleNetwork[],
  { name, type }: { name: string; type: number },
  random: () => number,
): LocalAnswer | undefined {
  if (type === TYPE.ptr) {
    return pointer(networks, name);
  }
  const found = foundInAll(networks, name);
  if (found.length === 0) {
    return undefined;
  }
  const wanted = found
    .flatMap(({ addresses }) => addresses)
    .filter((address) => (type === TYPE.a && isIpv4(address)) || (type === TYPE.aaaa && !isIpv4(address)));
  return {
    records: shuffled([...new Set(wanted)], random).map((address) => ({ kind: 'address', address })),
    ttlS: found.some(({ changesOften }) => changesOften) ? limits.dnsTasksTtlS : limits.dnsLocalTtlS,
  };
}

/**
 * Tasks with published ports are in the ingress network too. A service's address there is for what comes from outside:
 * it is an answer only where no other network knows the name.
 */
function foundInAll(networks: readonly VisibleNetwork[], name: string): FoundName[] {
  const asked = (isIngress: boolean): FoundName[] =>
    networks
      .filter(({ network }) => (network.spec.ingress ?? false) === isIngress)
      .flatMap((visible) => foundIn(visible, name) ?? []);
  const found = asked(false);
  return found.length > 0 ? found : asked(true);
}

/** Of `web`, and of `web.blue` in the network `blue`. */
function foundIn({ network, links }: VisibleNetwork, name: string): FoundName | undefined {
  const suffix = `.${network.name.toLowerCase()}`;
  const bare = name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
  const target = links.get(bare) ?? bare;
  // What the swarm says comes first: tasks of this host have the name of their service, which leads elsewhere.
  return network.swarmNames?.find(target) ?? foundHere(network, target);
}

function foundHere(network: Network, name: string): FoundName | undefined {
  const members = [...(network.names.get(name) ?? [])];
  return members.length === 0
    ? undefined
    : { addresses: members.flatMap(({ endpoint }) => parsedAddresses(endpoint)), changesOften: false };
}

function shuffled(addresses: IpAddress[], random: () => number): IpAddress[] {
  return addresses
    .map((address) => ({ address, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ address }) => address);
}

/** Endpoints are never changed in place, and their addresses are asked for over and over. */
const parsed = new WeakMap<EndpointSettings, IpAddress[]>();

function parsedAddresses(endpoint: EndpointSettings): IpAddress[] {
  const known = parsed.get(endpoint) ?? addressesOf(endpoint).map(({ address }) => address);
  parsed.set(endpoint, known);
  return known;
}

function pointer(networks: readonly VisibleNetwork[], name: string): LocalAnswer | undefined {
  const address = parseIp(addressOfPointer(name) ?? '');
  if (address === undefined) {
    return undefined;
  }
  for (const { network } of networks) {
    const member = network.members.get(network.addresses.get(address) ?? '');
    const known = member?.containerName ?? network.swarmNames?.nameAt(address);
    if (known !== undefined) {
      return { records: [{ kind: 'pointer', name: `${known}.${network.name}` }], ttlS: limits.dnsLocalTtlS };
    }
  }
  return undefined;
}
