import { attribute } from '../netlink/attributes.ts';
import type { Attribute } from '../netlink/attributes.ts';

/**
 * Expressions of rules in the kernel's own terms (linux/netfilter/nf_tables.h), for namespaces in which libnftables
 * cannot speak: it would open a socket for each, and aborts the daemon when one has a descriptor past 1,023. Pure.
 *
 * An expression loads something into registers, compares registers, or acts. `at` counts registers of four bytes; an
 * address of IPv6 takes four of them. A rule ends at the first expression that does not match.
 */
export type Expression = Attribute;

export type Family = 'ip' | 'ip6';

const LIST_ELEMENT = 1;
const EXPRESSION = { name: 1, data: 2 };
const PAYLOAD = { to: 1, base: 2, offset: 3, length: 4, from: 5, sumType: 6, sumOffset: 7 };
const COMPARE = { register: 1, operator: 2, data: 3 };
const BITWISE = { from: 1, to: 2, length: 3, mask: 4, xor: 5 };
const META = { to: 1, key: 2, from: 3 };
const TRACKED = { to: 1, key: 2 };
const IMMEDIATE = { to: 1, data: 2 };
const LOOKUP = { set: 1, from: 2, to: 3 };
const COUNTER = { to: 1, modulus: 2, type: 3 };
const NAT = { type: 1, family: 2, addressMin: 3, portMin: 5 };
const REJECT = { type: 1, code: 2 };
const DATA = { value: 1, verdict: 2 };
const VERDICT = { code: 1, chain: 2 };

const VERDICT_REGISTER = 0;
const EQUAL = 0;
const NOT_EQUAL = 1;
const SUM_OF_INTERNET = 1;
const INCREMENTAL = 0;
const VERDICTS = { drop: 0, accept: 1, return: -5 } as const;
const GOTO = -4;

export const IP_FAMILIES = { ip: 2, ip6: 10 } as const;
const META_KEYS = { mark: 3, inputName: 6, outputName: 7, transport: 16 } as const;
const TRACKED_KEYS = { state: 0, status: 2 } as const;
/** Bits of `ct state` and `ct status`. */
const TRACKED_BITS = { established: 1 << 1, related: 1 << 2, destinationChanged: 1 << 5 } as const;
const HEADERS = { network: 1, transport: 2 } as const;
/** struct iphdr, struct ipv6hdr */
const ADDRESSES = {
  ip: { source: 12, destination: 16, bytes: 4 },
  ip6: { source: 8, destination: 24, bytes: 16 },
} as const;
/** Of UDP, TCP and SCTP alike. */
const PORTS = { source: 0, destination: 2, bytes: 2 } as const;
const REJECTIONS = { unreachable: 0, reset: 1 } as const;
const PORT_UNREACHABLE = { ip: 3, ip6: 4 } as const;
const INTERFACE_NAME_BYTES = 16;

type End = 'source' | 'destination';

export const load = {
  address: (family: Family, end: End, at = 0): Expression =>
    payload(at, { base: HEADERS.network, offset: ADDRESSES[family][end], length: ADDRESSES[family].bytes }),
  port: (end: End, at = 0): Expression =>
    payload(at, { base: HEADERS.transport, offset: PORTS[end], length: PORTS.bytes }),
  /** The number of the protocol above IP. */
  transport: (at = 0): Expression => meta(META_KEYS.transport, at),
  /** Counts packets that came here, modulo. Not for security. */
  turn: (modulus: number, at = 0): Expression =>
    expression('numgen', [
      attribute.u32be(COUNTER.to, register(at)),
      attribute.u32be(COUNTER.modulus, modulus),
      attribute.u32be(COUNTER.type, INCREMENTAL),
    ]),
  value: (value: Buffer, at = 0): Expression =>
    expression('immediate', [attribute.u32be(IMMEDIATE.to, register(at)), dataValue(IMMEDIATE.data, value)]),
  /** What the map has for the registers from `key` on. */
  fromMap: (map: string, key = 0, at = 0): Expression =>
    expression('lookup', [
      attribute.text(LOOKUP.set, map),
      attribute.u32be(LOOKUP.from, register(key)),
      attribute.u32be(LOOKUP.to, register(at)),
    ]),
};

/** Each ends the rule for packets that are different. */
export const match = {
  equal: (value: Buffer): Expression => compare(EQUAL, value),
  inSet: (set: string): Expression =>
    expression('lookup', [attribute.text(LOOKUP.set, set), attribute.u32be(LOOKUP.from, register(0))]),
  transport: (protocol: number): Expression[] => [load.transport(), compare(EQUAL, Buffer.of(protocol))],
  input: (name: string): Expression[] => [meta(META_KEYS.inputName, 0), compare(EQUAL, interfaceName(name))],
  output: (name: string): Expression[] => [
    meta(META_KEYS.outputName, 0),
    compare(EQUAL, interfaceName(name)),
  ],
  /** All packets but those with this mark. */
  unmarked: (mark: number): Expression[] => [meta(META_KEYS.mark, 0), compare(NOT_EQUAL, hostOrder(mark))],
  /** Packets of flows that exist, and errors about them. */
  ofKnownFlow: (): Expression[] =>
    tracked(TRACKED_KEYS.state, TRACKED_BITS.established | TRACKED_BITS.related),
  /** Packets of flows whose destination was changed. */
  redirected: (): Expression[] => tracked(TRACKED_KEYS.status, TRACKED_BITS.destinationChanged),
};

/** What ends a rule. */
export const act = {
  verdict: (verdict: keyof typeof VERDICTS): Expression =>
    expression('immediate', [
      attribute.u32be(IMMEDIATE.to, VERDICT_REGISTER),
      attribute.nested(IMMEDIATE.data, [verdictOf(VERDICTS[verdict])]),
    ]),
  /** Goes on in the chain that the map has for the first registers; past the rule when it has none. */
  byMap: (map: string): Expression =>
    expression('lookup', [
      attribute.text(LOOKUP.set, map),
      attribute.u32be(LOOKUP.from, register(0)),
      attribute.u32be(LOOKUP.to, VERDICT_REGISTER),
    ]),
  /** The address is in the registers from 0 on, the port in that of `port`. */
  changeDestination: (family: Family, port?: number): Expression =>
    expression('nat', [
      attribute.u32be(NAT.type, 1),
      attribute.u32be(NAT.family, IP_FAMILIES[family]),
      attribute.u32be(NAT.addressMin, register(0)),
      ...(port === undefined ? [] : [attribute.u32be(NAT.portMin, register(port))]),
    ]),
  /** The address is in the registers from 0 on. */
  changeSource: (family: Family): Expression =>
    expression('nat', [
      attribute.u32be(NAT.type, 0),
      attribute.u32be(NAT.family, IP_FAMILIES[family]),
      attribute.u32be(NAT.addressMin, register(0)),
    ]),
  masquerade: (): Expression => expression('masq', []),
  /** The packet has it until it leaves the namespace. */
  mark: (mark: number): Expression[] => [
    expression('immediate', [
      attribute.u32be(IMMEDIATE.to, register(0)),
      dataValue(IMMEDIATE.data, hostOrder(mark)),
    ]),
    expression('meta', [attribute.u32be(META.key, META_KEYS.mark), attribute.u32be(META.from, register(0))]),
  ],
  reset: (): Expression => expression('reject', [attribute.u32be(REJECT.type, REJECTIONS.reset)]),
  refuse: (family: Family): Expression =>
    expression('reject', [
      attribute.u32be(REJECT.type, REJECTIONS.unreachable),
      attribute.u8(REJECT.code, PORT_UNREACHABLE[family]),
    ]),
  /** Without connection tracking. The value is in the first register. */
  writePort: (end: End, sumOffset: number): Expression =>
    expression('payload', [
      attribute.u32be(PAYLOAD.from, register(0)),
      ...place({ base: HEADERS.transport, offset: PORTS[end], length: PORTS.bytes }),
      attribute.u32be(PAYLOAD.sumType, SUM_OF_INTERNET),
      attribute.u32be(PAYLOAD.sumOffset, sumOffset),
    ]),
};

/** Registers that a value of so many bytes takes. */
export function registersOf(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** Going on in another chain, as data of an element. */
export function gotoChain(chain: string): Attribute {
  return verdictOf(GOTO, chain);
}

export function portBytes(port: number): Buffer {
  return Buffer.of(port >> 8, port & 0xff);
}

/** As the kernel spells them when it tells of a rule: the first of sixteen bytes by their old numbers. */
function register(at: number): number {
  return at % 4 === 0 ? 1 + at / 4 : 8 + at;
}

interface Place {
  base: number;
  offset: number;
  length: number;
}

function payload(at: number, from: Place): Expression {
  return expression('payload', [attribute.u32be(PAYLOAD.to, register(at)), ...place(from)]);
}

function place({ base, offset, length }: Place): Attribute[] {
  return [
    attribute.u32be(PAYLOAD.base, base),
    attribute.u32be(PAYLOAD.offset, offset),
    attribute.u32be(PAYLOAD.length, length),
  ];
}

function meta(key: number, at: number): Expression {
  return expression('meta', [attribute.u32be(META.to, register(at)), attribute.u32be(META.key, key)]);
}

function compare(operator: number, value: Buffer): Expression {
  return expression('cmp', [
    attribute.u32be(COMPARE.register, register(0)),
    attribute.u32be(COMPARE.operator, operator),
    dataValue(COMPARE.data, value),
  ]);
}

/** Any of these bits is set. */
function tracked(key: number, bits: number): Expression[] {
  const mask = hostOrder(bits);
  return [
    expression('ct', [attribute.u32be(TRACKED.to, register(0)), attribute.u32be(TRACKED.key, key)]),
    expression('bitwise', [
      attribute.u32be(BITWISE.from, register(0)),
      attribute.u32be(BITWISE.to, register(0)),
      attribute.u32be(BITWISE.length, mask.length),
      dataValue(BITWISE.mask, mask),
      dataValue(BITWISE.xor, Buffer.alloc(mask.length)),
    ]),
    compare(NOT_EQUAL, Buffer.alloc(mask.length)),
  ];
}

function hostOrder(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function interfaceName(name: string): Buffer {
  const bytes = Buffer.alloc(INTERFACE_NAME_BYTES);
  bytes.write(name);
  return bytes;
}

export function dataValue(type: number, value: Buffer): Attribute {
  return attribute.nested(type, [attribute.bytes(DATA.value, value)]);
}

function verdictOf(code: number, chain?: string): Attribute {
  return attribute.nested(DATA.verdict, [
    attribute.u32be(VERDICT.code, code >>> 0),
    ...(chain === undefined ? [] : [attribute.text(VERDICT.chain, chain)]),
  ]);
}

function expression(name: string, data: Attribute[]): Expression {
  return attribute.nested(LIST_ELEMENT, [
    attribute.text(EXPRESSION.name, name),
    attribute.nested(EXPRESSION.data, data),
  ]);
}
