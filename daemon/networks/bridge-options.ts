import { isIP } from 'node:net';
import { invalidArgument } from '../base/errors.ts';

/** What a user may say of a bridge network; keys of dockerd's bridge driver. */
export interface BridgeOptions {
  /** Interface name; undefined = made of the network's id. */
  name?: string;
  mtu?: number;
  icc: boolean;
  masquerade: boolean;
  /** Host address of published ports that name none. */
  bindingAddress?: string;
  /** Begins the names of interfaces in containers; undefined = `eth`. */
  interfacePrefix?: string;
}

const INTERFACE = /^(?!\.{1,2}$)[a-zA-Z0-9_.-]{1,15}$/;

/** Reads the options of a bridge network. Throws invalid_argument naming key and value. Pure. */
export function bridgeOptions(options: Readonly<Record<string, string>>): BridgeOptions {
  const result: BridgeOptions = { icc: true, masquerade: true };
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
      case 'com.docker.network.container_iface_prefix':
        // A number follows.
        result.interfacePrefix = checked(key, value, /^[a-zA-Z_][a-zA-Z0-9_.-]{0,11}$/.test(value));
        break;
      case 'com.docker.network.bridge.default_bridge':
        checked(key, value, !truth(key, value));
        break;
      default:
        throw invalidArgument(`network option "${key}" is not supported by the bridge driver`);
    }
  }
  return result;
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
