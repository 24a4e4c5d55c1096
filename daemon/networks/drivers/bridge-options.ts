import { isIP } from 'node:net';
import { invalidArgument } from '../../base/errors.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import { parseIpv4 } from '../../base/addresses/ipv4.ts';
import { parseIpv6 } from '../../base/addresses/ipv6.ts';

/** What a user may say of a bridge network; keys of dockerd's bridge driver. */
export interface BridgeOptions {
  /** Interface name; undefined = made of the network's id. */
  name?: string;
  mtu?: number;
  icc: boolean;
  masquerade: boolean;
  /** Host address of published ports that name none. */
  bindingAddress?: string;
  /**
   * Source addresses, of the host, of what leaves the network; in place of that of the interface that the packet leaves
   * by.
   */
  sources: IpAddress[];
  /** The gateway is another router in the bridge. */
  inhibitIpv4: boolean;
  /** Begins the names of interfaces in containers; undefined = `eth`. */
  interfacePrefix?: string;
}

const INTERFACE = /^(?!\.{1,2}$)[a-zA-Z0-9_.-]{1,15}$/;

/**
 * Keys of other engines that open or close a network, with the value that it has here anyway. A network that only seems
 * isolated is worse than an error.
 */
const OTHERS_SECURITY: ReadonlyMap<string, string | undefined> = new Map([
  ['com.docker.network.bridge.gateway_mode_ipv4', 'nat'],
  ['com.docker.network.bridge.gateway_mode_ipv6', 'nat'],
  ['com.docker.network.bridge.trusted_host_interfaces', ''],
  ['com.docker.network.internal', undefined],
  ['encrypted', undefined],
]);

/**
 * Reads the options of a bridge network. Keys that it does not know are kept with the network and shown, as by dockerd.
 * Throws invalid_argument naming key and value, also for an unknown key that means security. Pure.
 */
export function bridgeOptions(options: Readonly<Record<string, string>>): BridgeOptions {
  const result: BridgeOptions = { icc: true, masquerade: true, inhibitIpv4: false, sources: [] };
  for (const [key, value] of Object.entries(options)) {
    switch (key) {
      case 'com.docker.network.bridge.name':
        result.name = checked(key, value, INTERFACE.test(value));
        break;
      case 'com.docker.network.driver.mtu':
      case 'mtu':
        checked(key, value, /^\d{1,5}$/.test(value) && Number(value) >= 68 && Number(value) <= 65_535);
        result.mtu = Number(value);
        break;
      case 'com.docker.network.bridge.enable_icc':
        result.icc = truth(key, value);
        break;
      case 'com.docker.network.bridge.enable_ip_masquerade':
        result.masquerade = truth(key, value);
        break;
      case 'com.docker.network.bridge.host_binding_ipv4':
        result.bindingAddress = checked(key, value, isIP(value) === 4);
        break;
      case 'com.docker.network.bridge.inhibit_ipv4':
        result.inhibitIpv4 = truth(key, value);
        break;
      case 'com.docker.network.host_ipv4':
        result.sources.push(source(key, value, parseIpv4(value)));
        break;
      case 'com.docker.network.host_ipv6':
        result.sources.push(source(key, value, parseIpv6(value)));
        break;
      case 'com.docker.network.container_iface_prefix':
        // A number follows.
        result.interfacePrefix = checked(key, value, /^[a-zA-Z_][a-zA-Z0-9_.-]{0,11}$/.test(value));
        break;
      case 'com.docker.network.bridge.default_bridge':
        checked(key, value, !truth(key, value));
        break;
      default:
        if (OTHERS_SECURITY.has(key) && value !== OTHERS_SECURITY.get(key)) {
          throw invalidArgument(`network option "${key}" is not supported by the bridge driver: "${value}"`);
        }
    }
  }
  if (result.sources.length > 0 && !result.masquerade) {
    throw invalidArgument(
      'network option com.docker.network.host_ipv4, host_ipv6: not without masquerade: ' +
        'com.docker.network.bridge.enable_ip_masquerade is false',
    );
  }
  return result;
}

/** An address of one host. */
function source(key: string, value: string, address: IpAddress | undefined): IpAddress {
  const multicast = typeof address === 'number' ? 0xe000_0000 : 0xffn << 120n;
  if (address === undefined || address === 0 || address === 0n || address >= multicast) {
    throw invalidArgument(`network option ${key}: invalid value "${value}"`);
  }
  return address;
}

function checked(key: string, value: string, isValid: boolean): string {
  if (!isValid) {
    throw invalidArgument(`network option ${key}: invalid value "${value}"`);
  }
  return value;
}

function truth(key: string, value: string): boolean {
  if (!/^(?:1|0|t|f|true|false)$/i.test(value)) {
    throw invalidArgument(`network option ${key}: invalid value "${value}": expected true or false`);
  }
  return /^[1t]/i.test(value);
}
