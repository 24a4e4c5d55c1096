import { invalidArgument } from '../base/errors.ts';
import type { ParentSettings } from './ports.ts';

/** What a user may say of a macvlan network; keys of dockerd's driver. */
export interface MacvlanOptions {
  /** Link of the host, `eth0`, or `eth0.10` for a VLAN of it; undefined = none. */
  parent?: string;
  mode: ParentSettings['mode'];
  /** 0 = the parent's. */
  mtu: number;
}

const INTERFACE = /^(?!\.{1,2}$)[^\s/:]{1,15}$/;
const VLAN = /\.(\d+)$/;

/** Reads the options of a macvlan network. Throws invalid_argument naming key and value. Pure. */
export function macvlanOptions(options: Readonly<Record<string, string>>): MacvlanOptions {
  const result: MacvlanOptions = { mode: 'bridge', mtu: 0 };
  for (const [key, value] of Object.entries(options)) {
    switch (key) {
      case 'parent':
        if (value !== '') {
          result.parent = parentName(value);
        }
        break;
      case 'macvlan_mode':
        result.mode = modeOf(value);
        break;
      case 'com.docker.network.driver.mtu':
      case 'mtu':
        if (!/^\d{1,5}$/.test(value) || Number(value) < 68 || Number(value) > 65_535) {
          throw invalidArgument(`network option ${key}: invalid value "${value}"`);
        }
        result.mtu = Number(value);
        break;
      default:
        throw invalidArgument(`network option "${key}" is not supported by the macvlan driver`);
    }
  }
  return result;
}

function parentName(name: string): string {
  const vlan = VLAN.exec(name)?.[1];
  if (!INTERFACE.test(name) || name === 'lo') {
    throw invalidArgument(`network option parent: "${name}" is not a valid macvlan parent interface`);
  }
  if (vlan !== undefined && (Number(vlan) < 1 || Number(vlan) > 4094)) {
    throw invalidArgument(`network option parent: vlan id must be between 1-4094, received: ${vlan}`);
  }
  return name;
}

function modeOf(value: string): MacvlanOptions['mode'] {
  switch (value) {
    case '':
      return 'bridge';
    case 'private':
    case 'vepa':
    case 'bridge':
    case 'passthru':
      return value;
    default:
      throw invalidArgument(`requested macvlan mode '${value}' is not valid, 'bridge' mode is the default`);
  }
}
