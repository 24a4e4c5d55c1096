import { errnoOf } from '../../daemon/base/errors.ts';
import { isIpv4 } from '../../daemon/base/ip.ts';
import { ipv6Bytes } from '../../daemon/base/ipv6.ts';
import { attribute, decodeAttributes } from './attributes.ts';
import type { Attribute } from './attributes.ts';
import type { NetlinkRequest } from './netlink.ts';
import type { NetlinkSocket } from './netlink-socket.ts';
import type { HostPort } from './reservations.ts';

/**
 * Connection tracking over ctnetlink (linux/netfilter/nfnetlink_conntrack.h).
 *
 * The kernel looks up a published port for the first packet of a flow only. A UDP client that goes on sending
 * keeps its flow, and with it the container that is gone, for ever (moby#8795): so flows to a port are
 * forgotten when it is published and when it is not any more. TCP needs nothing: such a connection is reset.
 */
const SUBSYSTEM = 1;
const CT = { get: (SUBSYSTEM << 8) | 1, delete: (SUBSYSTEM << 8) | 2 };
const CTA = { original: 1, id: 12, filter: 25 };
const TUPLE = { ip: 1, protocol: 2 };
const TUPLE_IP = { destination4: 2, destination6: 4 };
const TUPLE_PROTOCOL = { number: 1, destinationPort: 3 };
const FILTER_ORIGINAL = 1;
const FILTER_BY = { ipDestination: 1 << 1, protocol: 1 << 3, destinationPort: 1 << 5 };
const UDP = 17;
const AF = { inet: 2, inet6: 10 };

/**
 * Forgets every UDP flow to this host port. Costs a walk over the table (about 1 ms); filters need Linux 5.8.
 */
export function forgetUdpFlows(netfilter: NetlinkSocket, port: HostPort): void {
  const object = `flows to udp port ${port.hostPort}`;
  for (const message of netfilter.dump(object, flowsTo(port))) {
    const flow = decodeAttributes(message.payload.subarray(4));
    const original = flow.get(CTA.original);
    const id = flow.get(CTA.id);
    if (original !== undefined && id !== undefined) {
      forget(netfilter, object, netfilterHeader(port), { original, id });
    }
  }
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
export function flowsTo(port: HostPort): NetlinkRequest {
  const destinationPort = Buffer.alloc(2);
  destinationPort.writeUInt16BE(port.hostPort);
  const { hostAddress } = port;
  const somewhere = hostAddress !== 0 && hostAddress !== 0n;
  const tuple: Attribute[] = [
    attribute.nested(TUPLE.protocol, [
      attribute.u8(TUPLE_PROTOCOL.number, UDP),
      attribute.bytes(TUPLE_PROTOCOL.destinationPort, destinationPort),
    ]),
  ];
  if (somewhere) {
    const destination = isIpv4(hostAddress)
      ? attribute.u32be(TUPLE_IP.destination4, hostAddress)
      : attribute.bytes(TUPLE_IP.destination6, ipv6Bytes(hostAddress));
    tuple.unshift(attribute.nested(TUPLE.ip, [destination]));
  }
  const by = FILTER_BY.protocol | FILTER_BY.destinationPort | (somewhere ? FILTER_BY.ipDestination : 0);
  return {
    type: CT.get,
    flags: 0,
    header: netfilterHeader(port),
    attributes: [
      attribute.nested(CTA.original, tuple),
      attribute.nested(CTA.filter, [attribute.u32(FILTER_ORIGINAL, by)]),
    ],
  };
}

/** `struct nfgenmsg`. */
function netfilterHeader({ hostAddress }: HostPort): Buffer {
  return Buffer.from([isIpv4(hostAddress) ? AF.inet : AF.inet6, 0, 0, 0]);
}
