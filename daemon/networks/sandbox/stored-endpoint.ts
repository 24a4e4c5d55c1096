import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import { parseIp } from '../../base/addresses/ip.ts';
import type { InterfaceAddress, IpAddress } from '../../base/addresses/ip.ts';

/** An endpoint as it is stored with its sandbox and shown by inspect; its addresses are text there. Pure. */

/** An endpoint without addresses, as those of `host` and `none`. Every key is there: clients index them. */
export function bareEndpoint(networkId: string, endpointId: string): EndpointSettings {
  return {
    IPAMConfig: null,
    Links: null,
    Aliases: null,
    MacAddress: '',
    DriverOpts: null,
    NetworkID: networkId,
    EndpointID: endpointId,
    Gateway: '',
    IPAddress: '',
    IPPrefixLen: 0,
    IPv6Gateway: '',
    GlobalIPv6Address: '',
    GlobalIPv6PrefixLen: 0,
    DNSNames: null,
  };
}

/** The addresses of a stored endpoint. */
export function addressesOf(endpoint: EndpointSettings): InterfaceAddress[] {
  return [
    { text: endpoint.IPAddress, prefixLength: endpoint.IPPrefixLen ?? 0 },
    { text: endpoint.GlobalIPv6Address, prefixLength: endpoint.GlobalIPv6PrefixLen ?? 0 },
  ].flatMap(({ text, prefixLength }) => {
    const address = parseIp(text ?? '');
    return address === undefined ? [] : [{ address, prefixLength }];
  });
}

/** The routers of a stored endpoint: at most one of each family. */
export function routersOf(endpoint: EndpointSettings | undefined): IpAddress[] {
  return [endpoint?.Gateway, endpoint?.IPv6Gateway].flatMap((text) => parseIp(text ?? '') ?? []);
}
