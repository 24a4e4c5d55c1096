import { errnoOf } from '../../../daemon/base/errors.ts';
import { addressBytes, formatIp, isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { attribute, decodeAttributes } from '../netlink/attributes.ts';
import type { Attribute } from '../netlink/attributes.ts';
import type { NetlinkMessage, NetlinkRequest } from '../netlink/netlink.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import type { HostPort } from '../port-reservations.ts';

/**
 * Connection tracking over ctnetlink (linux/netfilter/nfnetlink_conntrack.h).
 *
 * The kernel looks up a published port for the first packet of a flow only. A UDP client that goes on sending
 * keeps its flow, and with it the container that is gone, for ever (moby#8795): so flows to a port are
 * forgotten when it is published and when it is not any more. All flows from and to a container's addresses, TCP too,
 * are forgotten when it goes: a connection that is not closed stays for five days, and may meet the next owner of the
 * address.
 */
const SUBSYSTEM = 1;
const CT = { get: (SUBSYSTEM << 8) | 1, delete: (SUBSYSTEM << 8) | 2 };
const CTA = { original: 1, reply: 2, status: 3, id: 12, filter: 25 };
const TUPLE = { ip: 1, protocol: 2 };
const TUPLE_IP = { source4: 1, destination4: 2, source6: 3, destination6: 4 };
const TUPLE_PROTOCOL = { number: 1, destinationPort: 3 };
const FILTER = { original: 1, reply: 2 };
const FILTER_BY = { ipSource: 1 << 0, ipDestination: 1 << 1, protocol: 1 << 3, destinationPort: 1 << 5 };
export const UDP = 17;
/** IPS_SEEN_REPLY (linux/netfilter/nf_conntrack_common.h). */
const SEEN_REPLY = 1 << 1;
const AF = { inet: 2, inet6: 10 };

type End = 'source' | 'destination';
type Direction = 'original' | 'reply';

/** Which flows are meant: those with this address at one end of one direction. */
interface FlowEnd {
  direction: Direction;
  end: End;
  address: IpAddress;
}

/**
 * Forgets every UDP flow to this host port. Costs a walk over the table (about 1 ms); filters need Linux 5.8.
 */
export function forgetUdpFlows(netfilter: NetlinkSocket, port: HostPort): void {
  const { hostAddress: address, hostPort } = port;
  const isAnywhere = address === 0 || address === 0n;
  const ends: FlowEnd[] = isAnywhere ? [] : [{ direction: 'original', end: 'destination', address }];
  const object = `flows to udp port ${hostPort}`;
  const request = flowsTo(port);
  forgetFound(netfilter, object, { request, ends, found: netfilter.dump(object, request) });
}

/**
 * Forgets every flow that these addresses of one family began or answer, on a pool thread (5 ms and more for each walk
 * over the table); nothing else may use `walker` meanwhile. Where there are few flows it is one walk for all addresses,
 * else two for each, one in IPv6. `isWanted` is asked before anything is forgotten: another container may have the
 * address by then.
 */
export async function forgetFlowsOf(
  walker: NetlinkSocket,
  addresses: readonly IpAddress[],
  { areFew, isWanted }: { areFew: boolean; isWanted: (address: IpAddress) => boolean },
): Promise<void> {
  for (const { object, request, ends } of areFew
    ? questionAboutAll(addresses)
    : addresses.flatMap(questionsAbout)) {
    const found = await walker.dumpSlowly(object, request);
    const wanted = ends.filter(({ address }) => isWanted(address));
    if (wanted.length > 0) {
      forgetFound(walker, object, { request, ends: wanted, found });
    }
  }
}

/**
 * Forgets flows whose destination was changed to an address that `isMeant` says, of one family. One walk over the table
 * on a pool thread; nothing else may use `walker` meanwhile.
 */
export async function forgetRedirected(
  walker: NetlinkSocket,
  family: 'ip' | 'ip6',
  isMeant: (target: Buffer, flow: { protocol: number; isAnswered: boolean }) => boolean,
): Promise<void> {
  const object = 'flows to virtual addresses';
  const header = Buffer.from([family === 'ip' ? AF.inet : AF.inet6, 0, 0, 0]);
  const found = await walker.dumpSlowly(object, { type: CT.get, flags: 0, header, attributes: [] });
  const suffix = family === 'ip' ? 4 : 6;
  for (const message of found) {
    const flow = decodeAttributes(message.payload.subarray(4));
    const [original, id] = [flow.get(CTA.original), flow.get(CTA.id)];
    const called = addressOf(original, TUPLE_IP[`destination${suffix}`]);
    const target = addressOf(flow.get(CTA.reply), TUPLE_IP[`source${suffix}`]);
    if (original === undefined || id === undefined || called === undefined || target === undefined) {
      continue;
    }
    const isAnswered = ((flow.get(CTA.status)?.readUInt32BE(0) ?? 0) & SEEN_REPLY) !== 0;
    if (!called.equals(target) && isMeant(target, { protocol: protocolOf(original), isAnswered })) {
      forget(walker, object, header, { original, id });
    }
  }
}

function addressOf(tuple: Buffer | undefined, place: number): Buffer | undefined {
  const ip = decodeAttributes(tuple ?? Buffer.alloc(0)).get(TUPLE.ip);
  return decodeAttributes(ip ?? Buffer.alloc(0)).get(place);
}

function protocolOf(tuple: Buffer): number {
  const protocol = decodeAttributes(tuple).get(TUPLE.protocol) ?? Buffer.alloc(0);
  return decodeAttributes(protocol).get(TUPLE_PROTOCOL.number)?.readUInt8(0) ?? 0;
}

interface Question {
  object: string;
  request: NetlinkRequest;
  ends: readonly FlowEnd[];
}

function questionsAbout(address: IpAddress): Question[] {
  const object = `flows of ${formatIp(address)}`;
  const ends = endsOf(address);
  return isIpv4(address)
    ? ends.map((flowEnd) => ({ object, request: flowsFrom(address, flowEnd.direction), ends: [flowEnd] }))
    : [{ object, request: allFlows(address), ends }];
}

function questionAboutAll(addresses: readonly IpAddress[]): Question[] {
  const [first] = addresses;
  const object = `flows of ${addresses.map(formatIp).join(', ')}`;
  return first === undefined
    ? []
    : [{ object, request: allFlows(first), ends: addresses.flatMap((address) => endsOf(address)) }];
}

function endsOf(address: IpAddress): FlowEnd[] {
  return (['original', 'reply'] as const).map((direction) => ({ direction, end: 'source', address }));
}

/**
 * Of what the kernel found, those that are at one of the places (no places = all). Looked at again here, because the
 * kernel's filter by an IPv6 address lets through all but those that have it (seen in 6.18): it is never asked for
 * that.
 */
function forgetFound(
  netfilter: NetlinkSocket,
  object: string,
  { request, ends, found }: Pick<Question, 'request' | 'ends'> & { found: readonly NetlinkMessage[] },
): void {
  for (const message of found) {
    const flow = decodeAttributes(message.payload.subarray(4));
    const original = flow.get(CTA.original);
    const id = flow.get(CTA.id);
    const isMeant = ends.length === 0 || ends.some((flowEnd) => isAt(flow, flowEnd));
    if (original !== undefined && id !== undefined && isMeant) {
      forget(netfilter, object, request.header, { original, id });
    }
  }
}

function isAt(flow: ReadonlyMap<number, Buffer>, { direction, end, address }: FlowEnd): boolean {
  const tuple = decodeAttributes(flow.get(CTA[direction]) ?? Buffer.alloc(0));
  const ip = decodeAttributes(tuple.get(TUPLE.ip) ?? Buffer.alloc(0));
  const found = ip.get(TUPLE_IP[`${end}${isIpv4(address) ? 4 : 6}`]);
  return found?.equals(addressBytes(address)) === true;
}

function forget(
  netfilter: NetlinkSocket,
  object: string,
  header: Buffer,
  { original, id }: { original: Buffer; id: Buffer },
): void {
  const nested = 0x8000;
  const attributes = [
    attribute.bytes(CTA.original | nested, original),
    // The id keeps a flow that began meanwhile with the same addresses out of it.
    attribute.bytes(CTA.id, id),
  ];
  try {
    netfilter.request(object, [{ type: CT.delete, flags: 0, header, attributes }]);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') {
      throw error;
    }
    // It timed out meanwhile.
  }
}

/** A get, to be dumped. Pure. */
function flowsTo(port: HostPort): NetlinkRequest {
  const destinationPort = Buffer.alloc(2);
  destinationPort.writeUInt16BE(port.hostPort);
  const { hostAddress } = port;
  const isFiltered = isIpv4(hostAddress) && hostAddress !== 0;
  const tuple: Attribute[] = [
    attribute.nested(TUPLE.protocol, [
      attribute.u8(TUPLE_PROTOCOL.number, UDP),
      attribute.bytes(TUPLE_PROTOCOL.destinationPort, destinationPort),
    ]),
  ];
  if (isFiltered) {
    tuple.unshift(attribute.nested(TUPLE.ip, [attribute.u32be(TUPLE_IP.destination4, hostAddress)]));
  }
  const by = FILTER_BY.protocol | FILTER_BY.destinationPort | (isFiltered ? FILTER_BY.ipDestination : 0);
  return {
    type: CT.get,
    flags: 0,
    header: netfilterHeader(hostAddress),
    attributes: [
      attribute.nested(CTA.original, tuple),
      attribute.nested(CTA.filter, [attribute.u32(FILTER.original, by)]),
    ],
  };
}

/** A get, to be dumped, of what comes from this address at first, or in answer. Pure. */
function flowsFrom(address: number, direction: Direction): NetlinkRequest {
  return {
    type: CT.get,
    flags: 0,
    header: netfilterHeader(address),
    attributes: [
      attribute.nested(CTA[direction], [
        attribute.nested(TUPLE.ip, [attribute.u32be(TUPLE_IP.source4, address)]),
      ]),
      attribute.nested(CTA.filter, [attribute.u32(FILTER[direction], FILTER_BY.ipSource)]),
    ],
  };
}

/** A get, to be dumped, of all of the address's family. Pure. */
function allFlows(address: IpAddress): NetlinkRequest {
  return { type: CT.get, flags: 0, header: netfilterHeader(address), attributes: [] };
}

/** `struct nfgenmsg`. */
function netfilterHeader(address: IpAddress): Buffer {
  return Buffer.from([isIpv4(address) ? AF.inet : AF.inet6, 0, 0, 0]);
}
