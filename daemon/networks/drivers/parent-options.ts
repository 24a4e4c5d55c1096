import type { ChildLink } from '../../../runtime/network/netlink/links.ts';
import { invalidArgument } from '../../base/errors.ts';

/** What a user may say of a network that stands on a link of the host; keys of dockerd's drivers. */
export interface ParentOptions {
  /** Link of the host, `eth0`, or `eth0.10` for a VLAN of it; undefined = none. */
  parent?: string;
  link: ChildLink;
  /** 0 = the parent's. */
  mtu: number;
}

/** The drivers of such networks. */
export type ParentKind = ChildLink['kind'];

export function isParentKind(driver: string): driver is ParentKind {
  return driver === 'macvlan' || driver === 'ipvlan';
}

const INTERFACE = /^(?!\.{1,2}$)[^\s/:]{1,15}$/;
const VLAN = /\.(\d+)$/;
const MACVLAN_MODES = ['bridge', 'private', 'vepa', 'passthru'] as const;
const IPVLAN_MODES = ['l2', 'l3', 'l3s'] as const;
const IPVLAN_FLAGS = ['bridge', 'private', 'vepa'] as const;

/** Reads the options of a network of this driver. Throws invalid_argument naming key and value. Pure. */
export function parentOptions(kind: ParentKind, options: Readonly<Record<string, string>>): ParentOptions {
  const { parent, mtu, 'com.docker.network.driver.mtu': size, ...own } = options;
  return {
    ...(parent !== undefined && parent !== '' && { parent: parentName(kind, parent) }),
    link: kind === 'macvlan' ? macvlan(own) : ipvlan(own),
    mtu: size === undefined ? mtuOf('mtu', mtu) : mtuOf('com.docker.network.driver.mtu', size),
  };
}

function macvlan({ macvlan_mode: mode = '', ...rest }: Readonly<Record<string, string>>): ChildLink {
  refuseRest('macvlan', rest);
  return { kind: 'macvlan', mode: oneOf('macvlan', 'mode', MACVLAN_MODES, mode) };
}

function ipvlan(options: Readonly<Record<string, string>>): ChildLink {
  const { ipvlan_mode: mode = '', ipvlan_flag: flag = '', ...rest } = options;
  refuseRest('ipvlan', rest);
  return {
    kind: 'ipvlan',
    mode: oneOf('ipvlan', 'mode', IPVLAN_MODES, mode),
    flag: oneOf('ipvlan', 'flag', IPVLAN_FLAGS, flag),
  };
}

/** The first is what dockerd takes for one that says nothing. */
function oneOf<T extends string>(
  kind: ParentKind,
  what: string,
  values: readonly [T, ...T[]],
  value: string,
): T {
  const found = value === '' ? values[0] : values.find((each) => each === value);
  if (found === undefined) {
    throw invalidArgument(
      `requested ${kind} ${what} '${value}' is not valid, '${values[0]}' ${what} is the default`,
    );
  }
  return found;
}

function refuseRest(kind: ParentKind, rest: Readonly<Record<string, string>>): void {
  for (const key of Object.keys(rest)) {
    throw invalidArgument(`network option "${key}" is not supported by the ${kind} driver`);
  }
}

function mtuOf(key: string, value: string | undefined): number {
  if (value !== undefined && (!/^\d{1,5}$/.test(value) || Number(value) < 68 || Number(value) > 65_535)) {
    throw invalidArgument(`network option ${key}: invalid value "${value}"`);
  }
  return Number(value ?? 0);
}

function parentName(kind: ParentKind, name: string): string {
  const vlan = VLAN.exec(name)?.[1];
  if (!INTERFACE.test(name) || name === 'lo') {
    throw invalidArgument(`network option parent: "${name}" is not a valid ${kind} parent interface`);
  }
  if (vlan !== undefined && (Number(vlan) < 1 || Number(vlan) > 4094)) {
    throw invalidArgument(`network option parent: vlan id must be between 1-4094, received: ${vlan}`);
  }
  return name;
}
