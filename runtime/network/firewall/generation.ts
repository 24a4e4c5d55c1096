import { decodeAttributes } from '../netlink/attributes.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';

/** linux/netfilter/nf_tables.h */
const NFTABLES = 10;
const GET_GENERATION = (NFTABLES << 8) | 16;
const NFTA_GEN_ID = 1;

/** A number that grows with every change of any nftables table of the host, whoever makes it. About 10 microseconds. */
export function rulesetGeneration(netfilter: NetlinkSocket): number {
  const header = Buffer.alloc(4);
  const [answer] = netfilter.request('nftables generation', [
    { type: GET_GENERATION, flags: 0, header, attributes: [] },
  ]);
  const attributes = decodeAttributes(answer?.payload.subarray(header.length) ?? Buffer.alloc(0));
  return attributes.get(NFTA_GEN_ID)?.readUInt32BE(0) ?? 0;
}
