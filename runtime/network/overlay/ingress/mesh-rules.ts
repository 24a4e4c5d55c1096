import { addressBytes } from '../../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../../daemon/base/addresses/ip.ts';
import { act, load, match, portBytes } from '../../nftables/expressions.ts';
import type { Expression, Family } from '../../nftables/expressions.ts';
import type { Protocol } from '../../port-reservations.ts';
import { OVERLAY_BRIDGE } from '../overlay-devices.ts';
import { digitsOf, refusal } from '../overlay-rules.ts';
import type { SpreadForm } from '../spread-rules.ts';

/** The ingress namespace's end of the link to the host. */
export const WAY_INSIDE = 'host0';

const PROTOCOLS = { tcp: 6, udp: 17, sctp: 132 } as const satisfies Record<Protocol, number>;
const PRIORITY = { filter: 0, destination: -100, source: 100 } as const;
const ADDRESS_BYTES = { ip: 4, ip6: 16 } as const;
/** Registers have four bytes; what is shorter is followed by zeros. */
const REGISTER_BYTES = 4;
/** Of packets to a task of this host that sees the client's address. Nothing else in the namespace marks packets. */
const OPEN_CLIENT = 1;
const DIGITS = 2 * REGISTER_BYTES;

/** A port that the host answers at. */
interface Published {
  protocol: Protocol;
  hostPort: number;
}

/**
 * The table of published ports in the ingress network's namespace. In the terms of nft(8):
 *
 *   prerouting   iifname host0  meta l4proto . th dport vmap @spreads, to an address and a port of a task
 *   forward      answers; what stays on the bridge; from the host what was sent to a task; all else is dropped
 *   postrouting  oifname br0 ct status dnat mark != 1 snat to <this host's address in the network>: the answer comes
 *                back here, which it would not from another member of the bridge to one that called a virtual address
 *   input        everything but ICMP is refused: a port without tasks, and one that nobody published
 *
 * `node`: this host's address in the network; without one of the family nothing goes out of the bridge.
 */
export function meshForm(family: Family, node: IpAddress | undefined): SpreadForm {
  return {
    ...portForm(family),
    table: { family, name: 'berth_mesh' },
    chains: [
      {
        name: 'mesh',
        hook: { type: 'nat', at: 'prerouting', priority: PRIORITY.destination },
        rules: [spreadRule()],
      },
      {
        name: 'pass',
        hook: { type: 'filter', at: 'forward', priority: PRIORITY.filter },
        rules: [
          [...match.ofKnownFlow(), act.verdict('accept')],
          [...match.input(OVERLAY_BRIDGE), ...match.output(OVERLAY_BRIDGE), act.verdict('accept')],
          [
            ...match.input(WAY_INSIDE),
            ...match.output(OVERLAY_BRIDGE),
            ...match.redirected(),
            act.verdict('accept'),
          ],
          [act.verdict('drop')],
        ],
      },
      {
        name: 'source',
        hook: { type: 'nat', at: 'postrouting', priority: PRIORITY.source },
        rules:
          node === undefined
            ? []
            : [
                [
                  ...match.output(OVERLAY_BRIDGE),
                  ...match.redirected(),
                  ...match.unmarked(OPEN_CLIENT),
                  load.value(addressBytes(node)),
                  act.changeSource(family),
                ],
              ],
      },
      refusal(family),
    ],
  };
}

/**
 * The table of those published ports whose service prefers tasks of this host, while it has some: looked at before the
 * other one. What is sent to these keeps the client's address.
 *
 *   prerouting   iifname host0  meta l4proto . th dport vmap @spreads, with mark 1 to an address and a port of a task
 */
export function localForm(family: Family): SpreadForm {
  return {
    ...portForm(family),
    table: { family, name: 'berth_local' },
    chains: [
      {
        name: 'local',
        hook: { type: 'nat', at: 'prerouting', priority: PRIORITY.destination - 1 },
        rules: [spreadRule()],
      },
    ],
    mark: OPEN_CLIENT,
  };
}

/** From a published port to an address and a port. */
function portForm(family: Family): Pick<SpreadForm, 'key' | 'target'> {
  const bytes = ADDRESS_BYTES[family];
  return {
    key: { load: loadPort(), bytes: 2 * REGISTER_BYTES, type: ['protocol', 'port'] },
    target: { bytes: bytes + REGISTER_BYTES, type: ['address', 'port'], port: bytes / REGISTER_BYTES },
  };
}

function loadPort(): Expression[] {
  return [load.transport(), load.port('destination', 1)];
}

function spreadRule(): Expression[] {
  return [...match.input(WAY_INSIDE), ...loadPort(), act.byMap('spreads')];
}

/** A published port as the key of a spread, in hexadecimal digits. */
export function meshKey({ protocol, hostPort }: Published): string {
  return (
    PROTOCOLS[protocol].toString(16).padStart(2, '0').padEnd(DIGITS, '0') +
    hostPort.toString(16).padStart(4, '0').padEnd(DIGITS, '0')
  );
}

/** The port of a key; none where it is no protocol that can be published. */
export function portOfKey(key: string): Published[] {
  const number = Number.parseInt(key.slice(0, 2), 16);
  const hostPort = Number.parseInt(key.slice(DIGITS, DIGITS + 4), 16);
  return (['tcp', 'udp', 'sctp'] as const)
    .filter((protocol) => PROTOCOLS[protocol] === number)
    .map((protocol) => ({ protocol, hostPort }));
}

export function meshTarget(address: IpAddress, port: number): string {
  return digitsOf(address) + padded(portBytes(port));
}

/** Hexadecimal digits of a target's address. */
export function addressOfTarget(target: string): string {
  return target.slice(0, -DIGITS);
}

function padded(value: Buffer): string {
  return value.toString('hex').padEnd(DIGITS, '0');
}
