import { attribute } from '../netlink/attributes.ts';
import type { Attribute } from '../netlink/attributes.ts';
import { FLAG } from '../netlink/netlink.ts';
import type { NetlinkRequest } from '../netlink/netlink.ts';

/** Where containers find their name server; dockerd's address. */
export const NAME_SERVER_NUMBER = 0x7f00000b;

const TABLE = 'berth_names';
const CHAIN = 'names';
const NAME_PORT = 53;

/** linux/netfilter/nf_tables.h: messages and what is in them. */
const NFTABLES = 10 << 8;
const MESSAGE = {
  newTable: NFTABLES,
  newChain: NFTABLES | 3,
  newRule: NFTABLES | 6,
  deleteRule: NFTABLES | 8,
};
const TABLE_NAME = 1;
const CHAIN_ATTRIBUTE = { table: 1, name: 3, hook: 4, policy: 5, type: 7 };
const HOOK = { number: 1, priority: 2 };
const RULE = { table: 1, chain: 2, expressions: 4 };
const LIST_ELEMENT = 1;
const EXPRESSION = { name: 1, data: 2 };
const PAYLOAD = { to: 1, base: 2, offset: 3, length: 4, from: 5, sumType: 6, sumOffset: 7 };
const COMPARE = { register: 1, operator: 2, data: 3 };
const META = { to: 1, key: 2 };
const IMMEDIATE = { to: 1, data: 2 };
const DATA_VALUE = 1;

const LOCAL_OUT = 3;
const PRIORITY_MANGLE = -150;
const ACCEPT = 1;
const REGISTER = 1;
const EQUAL = 0;
const META_PROTOCOL = 16;
const HEADER = { network: 1, transport: 2 };
const SUM_OF_INTERNET = 1;
/** struct iphdr */
const ADDRESS = { source: 12, destination: 16 };
/** struct udphdr, struct tcphdr */
const PORTS = { source: 0, destination: 2 };
const PROTOCOLS = { udp: { number: 17, sumOffset: 6 }, tcp: { number: 6, sumOffset: 16 } };
const IPV4 = 2;
const APPEND = 0x800;

/**
 * A transaction that leads 127.0.0.11:53 of a namespace to the ports where the engine listens there, and its answers
 * back: the container may have a name server of its own on port 53. Headers are rewritten on their way out, without
 * connection tracking, which would cost every packet of the container. Pure.
 *
 * In the kernel's own terms, because libnftables would open a socket for each namespace and can use none whose
 * descriptor is past 1,023: it aborts the daemon. In those of nft(8), for each protocol:
 *
 *   ip daddr 127.0.0.11 udp dport 53 udp dport set <port>
 *   ip saddr 127.0.0.11 udp sport <port> udp sport set 53
 */
export function dnsRules(ports: { udp: number; tcp: number }): NetlinkRequest[] {
  const chain = [attribute.text(RULE.table, TABLE), attribute.text(RULE.chain, CHAIN)];
  const rules = (['udp', 'tcp'] as const).flatMap((protocol) => [
    rewrite(protocol, 'destination', { from: NAME_PORT, to: ports[protocol] }),
    rewrite(protocol, 'source', { from: ports[protocol], to: NAME_PORT }),
  ]);
  return [
    message(MESSAGE.newTable, FLAG.create, [attribute.text(TABLE_NAME, TABLE)]),
    message(MESSAGE.newChain, FLAG.create, [
      attribute.text(CHAIN_ATTRIBUTE.table, TABLE),
      attribute.text(CHAIN_ATTRIBUTE.name, CHAIN),
      attribute.nested(CHAIN_ATTRIBUTE.hook, [
        attribute.u32be(HOOK.number, LOCAL_OUT),
        attribute.u32be(HOOK.priority, PRIORITY_MANGLE >>> 0),
      ]),
      attribute.u32be(CHAIN_ATTRIBUTE.policy, ACCEPT),
      attribute.text(CHAIN_ATTRIBUTE.type, 'filter'),
    ]),
    message(MESSAGE.deleteRule, 0, chain),
    ...rules.map((expressions) =>
      message(MESSAGE.newRule, FLAG.create | APPEND, [
        ...chain,
        attribute.nested(RULE.expressions, expressions),
      ]),
    ),
  ];
}

function message(type: number, flags: number, attributes: Attribute[]): NetlinkRequest {
  // struct nfgenmsg: family, version, resource.
  return { type, flags, header: Buffer.of(IPV4, 0, 0, 0), attributes };
}

/** What has the name server's address and this port on this side gets another port there. */
function rewrite(
  protocol: keyof typeof PROTOCOLS,
  side: 'source' | 'destination',
  port: { from: number; to: number },
): Attribute[] {
  const { number, sumOffset } = PROTOCOLS[protocol];
  const address = Buffer.alloc(4);
  address.writeUInt32BE(NAME_SERVER_NUMBER);
  return [
    expression('payload', load(HEADER.network, ADDRESS[side], address.length)),
    equals(address),
    expression('meta', [attribute.u32be(META.to, REGISTER), attribute.u32be(META.key, META_PROTOCOL)]),
    equals(Buffer.of(number)),
    expression('payload', load(HEADER.transport, PORTS[side], 2)),
    equals(portBytes(port.from)),
    expression('immediate', [
      attribute.u32be(IMMEDIATE.to, REGISTER),
      attribute.nested(IMMEDIATE.data, [attribute.bytes(DATA_VALUE, portBytes(port.to))]),
    ]),
    expression('payload', [
      attribute.u32be(PAYLOAD.from, REGISTER),
      ...place(HEADER.transport, PORTS[side], 2),
      attribute.u32be(PAYLOAD.sumType, SUM_OF_INTERNET),
      attribute.u32be(PAYLOAD.sumOffset, sumOffset),
    ]),
  ];
}

function load(base: number, offset: number, length: number): Attribute[] {
  return [attribute.u32be(PAYLOAD.to, REGISTER), ...place(base, offset, length)];
}

function place(base: number, offset: number, length: number): Attribute[] {
  return [
    attribute.u32be(PAYLOAD.base, base),
    attribute.u32be(PAYLOAD.offset, offset),
    attribute.u32be(PAYLOAD.length, length),
  ];
}

/** The rule ends here for what is not equal. */
function equals(value: Buffer): Attribute {
  return expression('cmp', [
    attribute.u32be(COMPARE.register, REGISTER),
    attribute.u32be(COMPARE.operator, EQUAL),
    attribute.nested(COMPARE.data, [attribute.bytes(DATA_VALUE, value)]),
  ]);
}

function expression(name: string, data: Attribute[]): Attribute {
  return attribute.nested(LIST_ELEMENT, [
    attribute.text(EXPRESSION.name, name),
    attribute.nested(EXPRESSION.data, data),
  ]);
}

function portBytes(port: number): Buffer {
  return Buffer.of(port >> 8, port & 0xff);
}
