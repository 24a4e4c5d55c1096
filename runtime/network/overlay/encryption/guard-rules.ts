import { formatIp, isIpv4 } from '../../../../daemon/base/addresses/ip.ts';
import type { OverlayGuard } from '../settings.ts';

/**
 * The table that guards overlay traffic on the host, as text of nft(8). Pure.
 *
 *   prerouting raw    coming     VXLAN of our networks is not tracked
 *   output raw        going      the same
 *   input raw         arriving   VXLAN of our networks: encrypted ones by ESP alone, all of them from their hosts alone
 *   postrouting 300   leaving    VXLAN of an encrypted network that no ESP is going to cover
 *
 * `@th,96,24` is the VNI: three bytes behind UDP's header and four of VXLAN's. In `input` a packet is whole again that
 * came in parts, and before it wherever something tracks. Other programs' VXLAN at the same port has other
 * VNIs, and passes. A flow within a network would be two of the host's, as both directions have source ports of their
 * own: full tables and a look-up for each packet, for nothing.
 */
const VNI = '@th,96,24';
const SETS = ['networks', 'encrypted', 'hosts'] as const;

type Set = (typeof SETS)[number];
/** Elements of each set, as this module spells them. */
export type GuardElements = Record<Set, readonly string[]>;

export type Family = 'ip' | 'ip6';

export function familyOf({ local }: Pick<OverlayGuard, 'local'>): Family {
  return isIpv4(local) ? 'ip' : 'ip6';
}

export function guardElements({ local, networks }: OverlayGuard): GuardElements {
  return {
    networks: networks.map(({ vni }) => vniText(vni)),
    encrypted: networks.filter(({ encrypted }) => encrypted).map(({ vni }) => vniText(vni)),
    hosts: networks.flatMap(({ vni, hosts }) =>
      hosts
        .filter((host) => isIpv4(host) === isIpv4(local) && host !== local)
        .map((host) => `${formatIp(host)} . ${vniText(vni)}`),
    ),
  };
}

/** One transaction that makes the table, whatever it was. */
export function rebuildGuard(table: string, guard: OverlayGuard): string {
  const family = familyOf(guard);
  const { port } = guard;
  const untracked = `udp dport ${port} ${VNI} @networks notrack`;
  return `table ${family} ${table}
delete table ${family} ${table}
table ${family} ${table} {
  set networks { typeof ${VNI}; }
  set encrypted { typeof ${VNI}; }
  set hosts { typeof ${family} saddr . ${VNI}; }
  chain coming {
    type filter hook prerouting priority raw; policy accept;
    ${untracked}
  }
  chain going {
    type filter hook output priority raw; policy accept;
    ${untracked}
  }
  chain arriving {
    type filter hook input priority raw; policy accept;
    udp dport ${port} ${VNI} @encrypted meta secpath missing drop comment "encrypted networks by ESP alone"
    udp dport ${port} ${VNI} @networks ${family} saddr . ${VNI} != @hosts drop comment "from hosts of the network alone"
  }
  chain leaving {
    type filter hook postrouting priority 300; policy accept;
    udp dport ${port} ${VNI} @encrypted rt ipsec missing drop comment "encrypted networks by ESP alone"
  }
}
${elementCommands('add', table, family, guardElements(guard))}`;
}

/** One transaction from some elements to others; empty where there is no difference. */
export function changeGuard(
  table: string,
  family: Family,
  before: GuardElements,
  after: GuardElements,
): string {
  return [
    elementCommands('delete', table, family, difference(before, after)),
    elementCommands('add', table, family, difference(after, before)),
  ]
    .filter((text) => text !== '')
    .join('\n');
}

function elementCommands(
  verb: 'add' | 'delete',
  table: string,
  family: Family,
  elements: GuardElements,
): string {
  return SETS.filter((set) => elements[set].length > 0)
    .map((set) => `${verb} element ${family} ${table} ${set} { ${elements[set].join(', ')} }`)
    .join('\n');
}

function difference(of: GuardElements, without: GuardElements): GuardElements {
  const less = (set: Set): string[] => {
    const others = new Set(without[set]);
    return of[set].filter((element) => !others.has(element));
  };
  return { networks: less('networks'), encrypted: less('encrypted'), hosts: less('hosts') };
}

/** As nft lists them. */
function vniText(vni: number): string {
  return `0x${vni.toString(16)}`;
}
