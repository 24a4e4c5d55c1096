import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { InterfaceSetting } from '../../../runtime/network/attachment.ts';
import { invalidArgument } from '../../base/errors.ts';
import { isIpv4, parseIp } from '../../base/addresses/ip.ts';
import type { InterfaceAddress } from '../../base/addresses/ip.ts';

/** What an endpoint may ask of its interface beyond addresses that the network allocates. */
export interface EndpointOptions {
  /** 169.254.0.0/16 and fe80::/10; the network neither allocates them nor knows which are in use. */
  linkLocal: InterfaceAddress[];
  /** Of the interface in the container; undefined = the first that is free. */
  interfaceName?: string;
  settings: InterfaceSetting[];
}

const LINK_LOCAL_BITS = { ipv4: 16, ipv6: 64 } as const;
const INTERFACE = /^(?!\.{1,2}$)[a-zA-Z0-9_.-]{1,15}$/;
/** `IFNAME` stands for the interface; `docker run --network` writes it in lower case. */
const SYSCTL = /^net\.(ipv4|ipv6|mpls)\.([a-z0-9_]+)\.(?:IFNAME|ifname)\.([a-z0-9_]+)=([\x20-\x7e]*)$/;

/** Other names mean other engines' drivers: kept with the endpoint and shown, as by dockerd. */
const OURS = 'com.docker.network.';

/** Reads them. Throws invalid_argument naming the value, or the driver option that there is not. Pure. */
export function endpointOptions({ IPAMConfig, DriverOpts }: EndpointSettings): EndpointOptions {
  const options: EndpointOptions = {
    linkLocal: (IPAMConfig?.LinkLocalIPs ?? []).map(linkLocalAddress),
    settings: [],
  };
  for (const [key, value] of Object.entries(DriverOpts ?? {})) {
    switch (key) {
      case 'com.docker.network.endpoint.ifname':
        options.interfaceName = interfaceName(key, value);
        break;
      case 'com.docker.network.endpoint.sysctls':
        options.settings = value.split(',').map((setting) => interfaceSetting(key, setting));
        break;
      default:
        if (key.startsWith(OURS)) {
          throw invalidArgument(`invalid endpoint settings: DriverOpts: option "${key}" is not supported`);
        }
    }
  }
  return options;
}

/** True when nothing is asked for. */
export function isPlain({ linkLocal, interfaceName: name, settings }: EndpointOptions): boolean {
  return linkLocal.length === 0 && name === undefined && settings.length === 0;
}

function linkLocalAddress(text: string): InterfaceAddress {
  const address = parseIp(text);
  const isLinkLocal =
    address !== undefined &&
    (isIpv4(address) ? address >>> 16 === 0xa9fe : address >> 118n === 0xfe80n >> 6n);
  if (!isLinkLocal) {
    throw invalidArgument(`invalid endpoint settings: invalid link-local IP address: ${text}`);
  }
  return { address, prefixLength: isIpv4(address) ? LINK_LOCAL_BITS.ipv4 : LINK_LOCAL_BITS.ipv6 };
}

function interfaceName(key: string, name: string): string {
  if (!INTERFACE.test(name) || ['lo', 'all', 'default'].includes(name)) {
    throw invalidArgument(
      `invalid endpoint settings: DriverOpts: ${key}: "${name}" is no name of an interface`,
    );
  }
  return name;
}

function interfaceSetting(key: string, text: string): InterfaceSetting {
  const [, protocol, group, name, value] = SYSCTL.exec(text.trim()) ?? [];
  if (protocol === undefined || group === undefined || name === undefined || value === undefined) {
    throw invalidArgument(
      `invalid endpoint settings: DriverOpts: ${key}: "${text}": expected net.ipv4.conf.IFNAME.name=value`,
    );
  }
  return { protocol, group, name, value };
}
