import { formatAnySubnet, formatIp, isIpv4, subnetOfInterface } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import type { BridgeSettings } from '../links/bridge.ts';
import type { HostPort } from '../port-reservations.ts';

/**
 * The instance's nftables tables as text of nft(8): one for IPv4, and one of the same form for IPv6 once a bridge or a
 * port has such an address. Pure.
 *
 *   raw prerouting   guard        what must never arrive, before connections are tracked; `inside`: from containers
 *   nat prerouting   inbound   \
 *   nat output       local     /  published ports: destination rewritten by look-up in two maps
 *   input            input        internal networks do not call the host
 *   forward          forward      nothing out of internal networks, then `user`, then what may pass a bridge or a way
 *   nat postrouting  outbound     source NAT of what leaves the bridge
 *
 * A bridge, its subnet and a published port are elements of sets and maps, never rules: 10 000 of them cost a packet as
 * much as one. `user` belongs to the administrator: empty at first, never flushed, kept over restarts of the daemon.
 */
export interface PublishedPort extends HostPort {
  /** Of the container; of the same family. */
  address: IpAddress;
  containerPort: number;
}

/** The way into the swarm's ingress network, and the ports of all the host's addresses that lead there. */
export interface MeshEntry {
  way: MeshWay | undefined;
  ports: readonly Pick<HostPort, 'protocol' | 'hostPort'>[];
}

export interface MeshWay {
  /** Name of the host's end of the link. */
  link: string;
  /** Of the other end; at most one of each family. */
  addresses: readonly IpAddress[];
}

type Family = 'ip' | 'ip6';
export const FAMILIES = ['ip', 'ip6'] as const satisfies readonly Family[];

const TYPES = { ip: 'ipv4_addr', ip6: 'ipv6_addr' } as const;
const LOOPBACK = { ip: '127.0.0.0/8', ip6: '::1' } as const;
const CHAINS = ['guard', 'inside', 'inbound', 'local', 'publish', 'input', 'forward', 'outbound'] as const;
const MAPS = ['published_any', 'published_at', 'sources'] as const;
const SETS = [
  'bridges',
  'internal',
  'enclosed',
  'subnets',
  'homes',
  'masqueraded',
  'closed',
  'together',
] as const;
/** Where the published ports of a swarm lead, and the link that leads there. */
const MESH = { map: 'mesh', set: 'ways' } as const;

/** Everything that is to be in the tables. */
export interface Contents {
  bridges: Iterable<BridgeSettings>;
  ports: Iterable<PublishedPort>;
  /** Undefined = what is in the tables stays: the daemon has not been told yet. */
  mesh?: MeshEntry | undefined;
  /** Whether there is to be an IPv6 table. */
  ipv6: boolean;
}

/**
 * One transaction that makes the tables what they should be, whatever they were, and never leaves a moment without
 * rules.
 */
export function rebuildCommands(table: string, contents: Contents): string {
  const families = contents.ipv6 ? FAMILIES : (['ip'] as const);
  const bridges = [...contents.bridges];
  const ports = [...contents.ports];
  return [
    // Adding what exists is no error, so the same text serves the first start, a restart and a repair. Chains
    // are declared before they are flushed because a flush of a missing chain is an error.
    ...families.flatMap((family) => [
      declarations(family, table),
      ...CHAINS.map((chain) => `flush chain ${family} ${table} ${chain}`),
      ...MAPS.map((map) => `flush map ${family} ${table} ${map}`),
      ...SETS.map((set) => `flush set ${family} ${table} ${set}`),
      ...(contents.mesh === undefined ? [] : flushedMesh(family, table)),
      rules(family, table),
    ]),
    ...(contents.mesh === undefined ? [] : [meshCommands(table, contents.mesh, families)]),
    ...bridges.map((bridge) => bridgeCommands('add', table, bridge, families)),
    ...(ports.length === 0 ? [] : [portCommands('add', table, ports)]),
  ].join('\n');
}

/** Elements of one set or map, spelled as nft lists them. */
interface Members {
  set: string;
  members: string[];
}

/** Adds or deletes what the tables know of a bridge. Deleting fails as a whole when something is not there. */
export function bridgeCommands(
  verb: 'add' | 'delete',
  table: string,
  bridge: BridgeSettings,
  families: readonly Family[],
): string {
  return families
    .flatMap((family) => elementCommands(`${verb} element ${family} ${table}`, bridgeMembers(family, bridge)))
    .join('\n');
}

/**
 * Adds (one that is there already with the same target is no error) or deletes (fails as a whole when one is not
 * there) the elements of these ports.
 */
export function portCommands(verb: 'add' | 'delete', table: string, ports: readonly PublishedPort[]): string {
  const element = (port: PublishedPort): string => (verb === 'add' ? mapping(port) : elementKey(port));
  return FAMILIES.flatMap((family) =>
    elementCommands(`${verb} element ${family} ${table}`, portMembers(family, ports, element)),
  ).join('\n');
}

/** One transaction from one mesh to another; from undefined: from whatever is there. */
export function meshChangeCommands(
  table: string,
  before: MeshEntry | undefined,
  after: MeshEntry,
  families: readonly Family[],
): string {
  if (before === undefined || !isSameWay(before.way, after.way)) {
    return [
      ...families.flatMap((family) => flushedMesh(family, table)),
      meshCommands(table, after, families),
    ].join('\n');
  }
  const [old, now] = [before, after].map(({ ports }) => new Set(ports.map(meshKey)));
  const gone = before.ports.filter((port) => now?.has(meshKey(port)) !== true);
  const fresh = after.ports.filter((port) => old?.has(meshKey(port)) !== true);
  const { way } = after;
  return [
    meshPortCommands('delete', table, { way, ports: gone }, families),
    meshPortCommands('add', table, { way, ports: fresh }, families),
  ].join('\n');
}

/** Sets whose elements are not known as long as the mesh is not. */
export const MESH_SETS: readonly string[] = [MESH.map, MESH.set];

function isSameWay(one: MeshWay | undefined, other: MeshWay | undefined): boolean {
  const [a, b] = [one, other].map((way) => [way?.link, ...(way?.addresses ?? [])].join(' '));
  return a === b;
}

function flushedMesh(family: Family, table: string): string[] {
  return [`flush map ${family} ${table} ${MESH.map}`, `flush set ${family} ${table} ${MESH.set}`];
}

function meshCommands(table: string, mesh: MeshEntry, families: readonly Family[]): string {
  const ways = families.flatMap((family) =>
    elementCommands(`add element ${family} ${table}`, wayMembers(mesh)),
  );
  return [...ways, meshPortCommands('add', table, mesh, families)].join('\n');
}

function meshPortCommands(
  verb: 'add' | 'delete',
  table: string,
  mesh: MeshEntry,
  families: readonly Family[],
): string {
  return families
    .flatMap((family) =>
      elementCommands(`${verb} element ${family} ${table}`, meshPortMembers(family, mesh, verb === 'add')),
    )
    .join('\n');
}

/** Of each family: what has no addresses of one is closed in it all the same. */
function wayMembers({ way }: MeshEntry): Members[] {
  return way === undefined ? [] : [{ set: MESH.set, members: [`"${way.link}"`] }];
}

function meshPortMembers(family: Family, { way, ports }: MeshEntry, areMappings: boolean): Members[] {
  const address = way?.addresses.find((each) => familyOf(each) === family);
  if (address === undefined) {
    return [];
  }
  const target = formatIp(address);
  const members = ports.map((port) =>
    areMappings ? `${meshKey(port)} : ${target} . ${port.hostPort}` : meshKey(port),
  );
  return [{ set: MESH.map, members }];
}

function meshKey({ protocol, hostPort }: MeshEntry['ports'][0]): string {
  return `${protocol} . ${hostPort}`;
}

/** All elements that a table of this family is to have. */
export function expectedElements(
  family: Family,
  contents: {
    bridges: readonly BridgeSettings[];
    ports: readonly PublishedPort[];
    mesh?: MeshEntry | undefined;
  },
): Members[] {
  const all = new Map<string, string[]>();
  const parts = [
    ...contents.bridges.flatMap((bridge) => bridgeMembers(family, bridge)),
    ...portMembers(family, contents.ports, mapping),
    ...(contents.mesh === undefined
      ? []
      : [...wayMembers(contents.mesh), ...meshPortMembers(family, contents.mesh, true)]),
  ];
  for (const { set, members } of parts) {
    all.set(set, [...(all.get(set) ?? []), ...members]);
  }
  return [...all].map(([set, members]) => ({ set, members }));
}

function bridgeMembers(family: Family, bridge: BridgeSettings): Members[] {
  const name = `"${bridge.name}"`;
  const subnets = bridge.addresses
    .filter(({ address }) => familyOf(address) === family)
    .map((address) => formatAnySubnet(subnetOfInterface(address)));
  const seen = bridge.masquerade && !bridge.internal ? subnets : [];
  const source = bridge.sources?.find((address) => familyOf(address) === family);
  return [
    { set: 'bridges', members: [name] },
    { set: 'internal', members: bridge.internal ? [name] : [] },
    { set: 'enclosed', members: bridge.internal ? [`${name} . ${name}`] : [] },
    { set: 'together', members: bridge.icc ? [`${name} . ${name}`] : [] },
    { set: 'subnets', members: subnets },
    { set: 'homes', members: subnets.map((subnet) => `${name} . ${subnet}`) },
    { set: 'masqueraded', members: source === undefined ? seen : [] },
    {
      set: 'sources',
      members: source === undefined ? [] : seen.map((subnet) => `${subnet} : ${formatIp(source)}`),
    },
    // To all others come answers, which only `forward` can tell from the rest.
    { set: 'closed', members: bridge.masquerade || bridge.internal ? subnets : [] },
  ];
}

function portMembers(
  family: Family,
  ports: readonly PublishedPort[],
  element: (port: PublishedPort) => string,
): Members[] {
  const own = ports.filter(({ address }) => familyOf(address) === family);
  return [
    { set: 'published_any', members: own.filter(isEverywhere).map(element) },
    { set: 'published_at', members: own.filter((port) => !isEverywhere(port)).map(element) },
  ];
}

function elementCommands(start: string, parts: readonly Members[]): string[] {
  return parts
    .filter(({ members }) => members.length > 0)
    .map(({ set, members }) => `${start} ${set} { ${members.join(', ')} }`);
}

/** Also the identity of a published port, within its family: two with the same key cannot both be. */
export function elementKey(port: PublishedPort): string {
  return isEverywhere(port)
    ? `${port.protocol} . ${port.hostPort}`
    : `${port.protocol} . ${formatIp(port.hostAddress)} . ${port.hostPort}`;
}

export function familyOf(address: IpAddress): Family {
  return isIpv4(address) ? 'ip' : 'ip6';
}

function isEverywhere({ hostAddress }: PublishedPort): boolean {
  return hostAddress === 0 || hostAddress === 0n;
}

function mapping(port: PublishedPort): string {
  return `${elementKey(port)} : ${formatIp(port.address)} . ${port.containerPort}`;
}

function declarations(family: Family, table: string): string {
  const address = TYPES[family];
  return `table ${family} ${table} {
  map published_any { type inet_proto . inet_service : ${address} . inet_service; }
  map published_at { type inet_proto . ${address} . inet_service : ${address} . inet_service; }
  map mesh { type inet_proto . inet_service : ${address} . inet_service; }
  map sources { type ${address} : ${address}; flags interval; }
  set bridges { type ifname; }
  set internal { type ifname; }
  set enclosed { type ifname . ifname; }
  set subnets { type ${address}; flags interval; }
  set homes { type ifname . ${address}; flags interval; }
  set masqueraded { type ${address}; flags interval; }
  set closed { type ${address}; flags interval; }
  set together { type ifname . ifname; }
  set ways { type ifname; }
  chain user { }
  chain inside { }
  chain guard { type filter hook prerouting priority raw; policy accept; }
  chain inbound { type nat hook prerouting priority dstnat; policy accept; }
  chain local { type nat hook output priority -100; policy accept; }
  chain publish { }
  chain input { type filter hook input priority filter; policy accept; }
  chain forward { type filter hook forward priority filter; policy accept; }
  chain outbound { type nat hook postrouting priority srcnat; policy accept; }
}`;
}

/**
 * route_localnet on the bridges lets the host reach containers from 127.0.0.1; `guard` keeps it from working
 * the other way (CVE-2020-8558), keeps neighbours that route to the containers' subnets out (CVE-2025-54388, -54410),
 * and keeps bridges apart: a container reaches those of another bridge by their published ports only.
 */
function rules(family: Family, table: string): string {
  const loopback = LOOPBACK[family];
  return `table ${family} ${table} {
  chain guard {
    iifname @bridges goto inside
    iifname != "lo" ${family} daddr @closed drop comment "published ports only"
    iifname @ways ${family} daddr ${loopback} drop comment "not for a swarm's networks"
  }
  chain inside {
    iifname . ${family} daddr @homes accept comment "its own bridge, by far the most"
    ${family} daddr ${loopback} drop comment "not for containers"
    iifname @internal ${OF_THE_LINK[family]} accept comment "of the link: input and forward tell whether it stays there"
    iifname @internal drop comment "internal"
    fib daddr type local accept comment "the host itself"
    ${family} daddr @subnets drop comment "no way to other bridges"
  }
  chain inbound {
    iifname @internal return comment "no published ports"
    ${family} daddr ${loopback} return comment "ports published on loopback are for the host itself"
    fib daddr type local goto publish
  }
  chain local {
${noBridgesAtLoopback(family)}    fib daddr type local goto publish
  }
  chain publish {
    dnat ${family} to meta l4proto . ${family} daddr . th dport map @published_at
    dnat ${family} to meta l4proto . th dport map @published_any
    dnat ${family} to meta l4proto . th dport map @mesh comment "the swarm's, after those of containers"
  }
  chain input {
    iifname @internal ct state established,related accept
${neighbourDiscovery(family, 'internal')}    iifname @internal drop comment "internal: nobody there calls the host"
    iifname @ways ct state established,related accept
${neighbourDiscovery(family, 'ways')}    iifname @ways drop comment "nor by a swarm's networks"
  }
  chain forward {
    iifname @internal iifname . oifname != @enclosed drop comment "internal: before anybody accepts it"
    jump user
    ct state established,related accept
    iifname @ways drop comment "answers only"
    oifname @ways ct status dnat accept comment "published ports of the swarm"
    oifname @ways drop
    oifname @bridges ct status dnat accept comment "published ports"
    iifname . oifname @together accept comment "containers of one bridge"
    oifname @bridges drop
  }
  chain outbound {
    oifname . ${family} saddr != @homes snat to ${family} saddr map @sources comment "as their network says"
    ${family} saddr @masqueraded oifname . ${family} saddr != @homes masquerade
    oifname . ${family} saddr @homes ct status dnat masquerade comment "hairpin"
    ${family} saddr ${loopback} oifname @bridges masquerade comment "from the host itself"
    oifname @ways fib saddr type local masquerade comment "from the host itself"
  }
}`;
}

/**
 * Answers from a bridge to ::1 are dropped by Linux where br_netfilter is loaded, as it has their address translated
 * before they are received. So only the swarm's ports are there; others refuse, and clients that know `localhost` by
 * both addresses go on to 127.0.0.1 in place of waiting.
 */
function noBridgesAtLoopback(family: Family): string {
  return family === 'ip'
    ? ''
    : `    ip6 daddr ${LOOPBACK.ip6} dnat ip6 to meta l4proto . th dport map @mesh
    ip6 daddr ${LOOPBACK.ip6} return comment "bridges get no answers to it"
`;
}

/**
 * What neighbours in a bridge say to each other beside the bridge's subnets: to link-local addresses, to all, and to
 * groups. With br_netfilter loaded it passes these chains.
 */
const OF_THE_LINK = {
  ip: 'ip daddr { 169.254.0.0/16, 224.0.0.0/4, 255.255.255.255 }',
  ip6: 'ip6 daddr { fe80::/10, ff00::/8 }',
} as const;

/** How the host and what is behind these links find each other's MAC. ARP passes no such table. */
function neighbourDiscovery(family: Family, links: string): string {
  return family === 'ip'
    ? ''
    : `    iifname @${links} icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept\n`;
}
