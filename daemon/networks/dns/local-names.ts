import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import { isIpv4, parseIp } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import type { Network } from '../network.ts';
import { addressesOf } from '../sandbox/stored-endpoint.ts';
import { TYPE, addressOfPointer } from './message.ts';
import type { RecordData } from './message.ts';

/** A network as one of its containers sees it. */
export interface VisibleNetwork {
  network: Network;
  /** Names that only this container has for others of the network: alias -> name. */
  links: ReadonlyMap<string, string>;
}

/**
 * What the networks of a container know of a name: its records, none when it is known but has no address of that kind,
 * undefined when no network knows it. `name` is in lower case. Pure.
 */
export function localRecords(
  networks: readonly VisibleNetwork[],
  name: string,
  type: number,
): RecordData[] | undefined {
  if (type === TYPE.ptr) {
    return pointers(networks, name);
  }
  const found = networks.flatMap((visible) => addressesOfName(visible, name));
  if (found.length === 0) {
    return undefined;
  }
  const wanted = found.filter(
    (address) => (type === TYPE.a && isIpv4(address)) || (type === TYPE.aaaa && !isIpv4(address)),
  );
  return wanted.map((address) => ({ kind: 'address', address }));
}

/** Of `web`, and of `web.blue` in the network `blue`. */
function addressesOfName({ network, links }: VisibleNetwork, name: string): IpAddress[] {
  const suffix = `.${network.name.toLowerCase()}`;
  const bare = name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
  const target = links.get(bare) ?? bare;
  const members = network.names.get(target) ?? [];
  return [...members].flatMap(({ endpoint }) => parsedAddresses(endpoint));
}

/** Endpoints are never changed in place, and their addresses are asked for over and over. */
const parsed = new WeakMap<EndpointSettings, IpAddress[]>();

function parsedAddresses(endpoint: EndpointSettings): IpAddress[] {
  const known = parsed.get(endpoint) ?? addressesOf(endpoint).map(({ address }) => address);
  parsed.set(endpoint, known);
  return known;
}

function pointers(networks: readonly VisibleNetwork[], name: string): RecordData[] | undefined {
  const address = parseIp(addressOfPointer(name) ?? '');
  if (address === undefined) {
    return undefined;
  }
  for (const { network } of networks) {
    const member = network.members.get(network.addresses.get(address) ?? '');
    if (member !== undefined) {
      return [{ kind: 'pointer', name: `${member.containerName}.${network.name}` }];
    }
  }
  return undefined;
}
