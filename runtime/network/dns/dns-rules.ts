import type { NetlinkRequest } from '../netlink/netlink.ts';
import { act, load, match, portBytes } from '../nftables/expressions.ts';
import type { Expression } from '../nftables/expressions.ts';
import { flushChain, newChain, newRule, newTable } from '../nftables/messages.ts';

/** Where containers find their name server; dockerd's address. */
export const NAME_SERVER_NUMBER = 0x7f00000b;

const TABLE = { family: 'ip', name: 'berth_names' } as const;
const CHAIN = 'names';
const NAME_PORT = 53;
const PRIORITY_MANGLE = -150;
const PROTOCOLS = { udp: { number: 17, sumOffset: 6 }, tcp: { number: 6, sumOffset: 16 } };

/**
 * A transaction that leads 127.0.0.11:53 of a namespace to the ports where the engine listens there, and its answers
 * back: the container may have a name server of its own on port 53. Headers are rewritten on their way out, without
 * connection tracking, which would cost every packet of the container. Pure. In the terms of nft(8), for each protocol:
 *
 *   ip daddr 127.0.0.11 udp dport 53 udp dport set <port>
 *   ip saddr 127.0.0.11 udp sport <port> udp sport set 53
 */
export function dnsRules(ports: { udp: number; tcp: number }): NetlinkRequest[] {
  const rules = (['udp', 'tcp'] as const).flatMap((protocol) => [
    rewrite(protocol, 'destination', { from: NAME_PORT, to: ports[protocol] }),
    rewrite(protocol, 'source', { from: ports[protocol], to: NAME_PORT }),
  ]);
  return [
    newTable(TABLE),
    newChain(TABLE, CHAIN, { type: 'filter', at: 'output', priority: PRIORITY_MANGLE }),
    flushChain(TABLE, CHAIN),
    ...rules.map((expressions) => newRule(TABLE, CHAIN, expressions)),
  ];
}

/** What has the name server's address and this port on this side gets another port there. */
function rewrite(
  protocol: keyof typeof PROTOCOLS,
  side: 'source' | 'destination',
  port: { from: number; to: number },
): Expression[] {
  const { number, sumOffset } = PROTOCOLS[protocol];
  const address = Buffer.alloc(4);
  address.writeUInt32BE(NAME_SERVER_NUMBER);
  return [
    load.address('ip', side),
    match.equal(address),
    ...match.transport(number),
    load.port(side),
    match.equal(portBytes(port.from)),
    load.value(portBytes(port.to)),
    act.writePort(side, sumOffset),
  ];
}
