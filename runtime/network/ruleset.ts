import { formatIpv4, formatSubnet, subnetOf } from '../../daemon/base/ipv4.ts';
import type { BridgeSettings } from './bridge.ts';

/**
 * The instance's nftables table as text of nft(8). Pure.
 *
 *   raw prerouting   guard        what must never arrive, before connections are tracked
 *   nat prerouting   inbound   \
 *   nat output       local     /  published ports: destination rewritten by look-up in two maps
 *   forward          forward      `user` first, then what may pass the bridge
 *   nat postrouting  outbound     who must not be seen with its own source address
 *
 * A published port is one element of one map, never a rule: 10 000 of them cost a packet as much as one.
 * `user` belongs to the administrator: empty at first, never flushed, kept over restarts of the daemon.
 */
export interface PublishedPort {
  protocol: 'tcp' | 'udp';
  /** 32-bit numbers; host address 0 = every address of the host. */
  hostAddress: number;
  hostPort: number;
  address: number;
  containerPort: number;
}

const CHAINS = ['guard', 'inbound', 'local', 'publish', 'forward', 'outbound'] as const;
const MAPS = {
  published_any: 'inet_proto . inet_service : ipv4_addr . inet_service',
  published_at: 'inet_proto . ipv4_addr . inet_service : ipv4_addr . inet_service',
} as const;

/**
 * One transaction that makes the table what it should be, whatever it was, and never leaves a moment without
 * rules.
 */
export function rebuildCommands(
  table: string,
  bridge: BridgeSettings,
  ports: Iterable<PublishedPort>,
): string {
  const all = [...ports];
  return [
    // Adding what exists is no error, so the same text serves the first start, a restart and a repair. Chains
    // are declared before they are flushed because a flush of a missing chain is an error.
    declarations(table),
    ...CHAINS.map((chain) => `flush chain ip ${table} ${chain}`),
    ...Object.keys(MAPS).map((map) => `flush map ip ${table} ${map}`),
    rules(table, bridge),
    ...(all.length === 0 ? [] : [addCommands(table, all)]),
  ].join('\n');
}

/** Elements for these ports; one that is there already with the same target is no error. */
export function addCommands(table: string, ports: readonly PublishedPort[]): string {
  return elementCommands('add', table, ports, (port) => `${elementKey(port)} : ${elementTarget(port)}`);
}

/** Fails as a whole when one of them is not there. */
export function deleteCommands(table: string, ports: readonly PublishedPort[]): string {
  return elementCommands('delete', table, ports, elementKey);
}

/** Also the identity of a published port: two with the same key cannot both be. */
export function elementKey(port: PublishedPort): string {
  return port.hostAddress === 0
    ? `${port.protocol} . ${port.hostPort}`
    : `${port.protocol} . ${formatIpv4(port.hostAddress)} . ${port.hostPort}`;
}

function elementTarget(port: PublishedPort): string {
  return `${formatIpv4(port.address)} . ${port.containerPort}`;
}

function elementCommands(
  verb: 'add' | 'delete',
  table: string,
  ports: readonly PublishedPort[],
  element: (port: PublishedPort) => string,
): string {
  const everywhere = ports.filter(({ hostAddress }) => hostAddress === 0);
  const somewhere = ports.filter(({ hostAddress }) => hostAddress !== 0);
  return [
    { map: 'published_any', members: everywhere },
    { map: 'published_at', members: somewhere },
  ]
    .filter(({ members }) => members.length > 0)
    .map(({ map, members }) => `${verb} element ip ${table} ${map} { ${members.map(element).join(', ')} }`)
    .join('\n');
}

function declarations(table: string): string {
  const maps = Object.entries(MAPS).map(([name, type]) => `  map ${name} { type ${type}; }`);
  return `table ip ${table} {
${maps.join('\n')}
  chain user { }
  chain guard { type filter hook prerouting priority raw; policy accept; }
  chain inbound { type nat hook prerouting priority dstnat; policy accept; }
  chain local { type nat hook output priority -100; policy accept; }
  chain publish { }
  chain forward { type filter hook forward priority filter; policy accept; }
  chain outbound { type nat hook postrouting priority srcnat; policy accept; }
}`;
}

/**
 * route_localnet on the bridge lets the host reach containers from 127.0.0.1; `guard` keeps it from working
 * the other way (CVE-2020-8558), and keeps neighbours who route to the containers' subnet out
 * (CVE-2025-54388, -54410).
 */
function rules(table: string, bridge: BridgeSettings): string {
  const subnet = formatSubnet(subnetOf(bridge.gateway, bridge.prefixLength));
  const name = `"${bridge.name}"`;
  return `table ip ${table} {
  chain guard {
    iifname ${name} ip daddr 127.0.0.0/8 drop comment "not for containers"
    iifname != { ${name}, "lo" } ip daddr ${subnet} drop comment "published ports only"
  }
  chain inbound {
    ip daddr 127.0.0.0/8 return comment "ports published on loopback are for the host itself"
    fib daddr type local goto publish
  }
  chain local {
    fib daddr type local goto publish
  }
  chain publish {
    dnat ip to meta l4proto . ip daddr . th dport map @published_at
    dnat ip to meta l4proto . th dport map @published_any
  }
  chain forward {
    jump user
    iifname ${name} accept comment "containers to anywhere, each other included"
    oifname ${name} ct state established,related accept
    oifname ${name} ct status dnat accept comment "published ports"
    oifname ${name} drop
  }
  chain outbound {
    ip saddr ${subnet} oifname != ${name} masquerade
    ip saddr ${subnet} oifname ${name} ct status dnat masquerade comment "hairpin"
    ip saddr 127.0.0.0/8 oifname ${name} masquerade comment "from the host itself"
  }
}`;
}
