import { addressBytes, isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { act, load, match } from '../nftables/expressions.ts';
import type { Family } from '../nftables/expressions.ts';
import { OWN } from './spread-rules.ts';
import type { SpreadForm } from './spread-rules.ts';

/** Protocols above IP. */
const ICMP = { ip: 1, ip6: 58 } as const;
const TCP = 6;
const PRIORITY = { filter: 0, destination: -100, source: 100 } as const;
const ADDRESS_BYTES = { ip: 4, ip6: 16 } as const;

/**
 * The table of virtual addresses in an overlay network's namespace. In the terms of nft(8):
 *
 *   prerouting   meta l4proto icmp return; ip daddr vmap @spreads
 *   postrouting  ip saddr . ip daddr @own masquerade      a target that calls itself would get answers from itself
 *   input        everything but ICMP is refused: nothing listens in there
 *
 * An address is one of the bridge, which answers ARP and ping for it; without targets what comes is for the bridge, and
 * refused at once, before connection tracking notes it: a UDP client that goes on sending finds the first target.
 */
export function addressForm(family: Family): SpreadForm {
  const bytes = ADDRESS_BYTES[family];
  return {
    table: { family, name: 'berth_balance' },
    chains: [
      {
        name: 'balance',
        hook: { type: 'nat', at: 'prerouting', priority: PRIORITY.destination },
        rules: [
          [...match.transport(ICMP[family]), act.verdict('return')],
          [load.address(family, 'destination'), act.byMap('spreads')],
        ],
      },
      {
        name: 'hairpin',
        hook: { type: 'nat', at: 'postrouting', priority: PRIORITY.source },
        rules: [
          [
            load.address(family, 'source'),
            load.address(family, 'destination', bytes / 4),
            match.inSet(OWN),
            act.masquerade(),
          ],
        ],
      },
      refusal(family),
    ],
    key: { load: [load.address(family, 'destination')], bytes, type: ['address'] },
    target: { bytes, type: ['address'] },
  };
}

/** Nothing listens in the namespace of a network. */
export function refusal(family: Family): SpreadForm['chains'][0] {
  return {
    name: 'refuse',
    hook: { type: 'filter', at: 'input', priority: PRIORITY.filter },
    rules: [
      [...match.transport(ICMP[family]), act.verdict('accept')],
      [...match.transport(TCP), act.reset()],
      [act.refuse(family)],
    ],
  };
}

export function familyOf(address: IpAddress): Family {
  return isIpv4(address) ? 'ip' : 'ip6';
}

export function digitsOf(address: IpAddress): string {
  return addressBytes(address).toString('hex');
}
