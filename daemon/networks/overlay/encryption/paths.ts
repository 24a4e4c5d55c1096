import { hkdfSync } from 'node:crypto';
import type { NetworkKey, NetworkKeys } from '../../../../api/types/swarm/overlay.ts';
import type { EncryptedPath } from '../../../../runtime/network/overlay/settings.ts';
import { formatIp, isIpv4, parseIp } from '../../../base/addresses/ip.ts';
import type { IpAddress } from '../../../base/addresses/ip.ts';

/** A node and its address for overlay traffic. */
export interface PathEnd {
  id: string;
  addr: string;
}

/** AES-128, and the four bytes that RFC 4106 calls its salt. */
const KEY_BYTES = 20;
const PURPOSE = 'berth overlay esp 1';
/** Of a ring, of which each key needs a number that differs from the others'. */
const KEY_SLOTS = 4;

/**
 * One direction between two nodes, with the key that it has under one key of the swarm: HKDF-SHA256 of that key, with
 * both nodes, their addresses and which of them sends as its context. Two directions, and two pairs, never share one,
 * so that each has AES-GCM's counter for itself. Pure.
 */
export function derivedKey({ id, secret }: NetworkKey, from: PathEnd, to: PathEnd): Buffer {
  const context = [PURPOSE, String(id), from.id, from.addr, to.id, to.addr].join('\0');
  return Buffer.from(hkdfSync('sha256', Buffer.from(secret, 'base64'), Buffer.alloc(0), context, KEY_BYTES));
}

/**
 * The receiver knows the key by this number: the sender's number in the swarm, and the key's place in the ring, which
 * the keys of one ring do not share as they follow each other. So no receiver ever has two of the same. Pure.
 */
export function spiOf(number: number, keyId: number): number {
  return number * KEY_SLOTS + (keyId % KEY_SLOTS);
}

/** The key that is sent with. The one after it is known by all before it takes its place. */
export function primaryOf({ ring }: NetworkKeys): NetworkKey | undefined {
  return ring.at(-2) ?? ring.at(-1);
}

/**
 * All directions between this node, at `local`, and these: to each with the primary key, from each with every key of
 * the ring. A node that has no number yet is left out. Where two nodes have one address, as after a leave and a join,
 * it is sent to the later one. Pure.
 */
export function encryptedPaths(
  keys: NetworkKeys,
  local: IpAddress,
  others: readonly PathEnd[],
): EncryptedPath[] {
  const own = { id: keys.node, addr: formatIp(local), number: keys.numbers[keys.node] };
  const peers = others.flatMap(({ id, addr }) => {
    const address = parseIp(addr);
    const number = Object.hasOwn(keys.numbers, id) ? keys.numbers[id] : undefined;
    const isOther = address !== undefined && address !== local && isIpv4(address) === isIpv4(local);
    return isOther && number !== undefined ? [{ id, address, addr: formatIp(address), number }] : [];
  });
  const latest = new Map(
    peers.toSorted((a, b) => a.number - b.number).map((peer) => [peer.address, peer] as const),
  );
  const primary = primaryOf(keys);
  const sent =
    own.number === undefined || primary === undefined
      ? []
      : [...latest.values()].map((peer) => ({
          from: local,
          to: peer.address,
          spi: spiOf(own.number ?? 0, primary.id),
          key: derivedKey(primary, own, peer),
        }));
  const received = uniqueBy(peers, ({ id, addr }) => `${id} ${addr}`).flatMap((peer) =>
    keys.ring.map((key) => ({
      from: peer.address,
      to: local,
      spi: spiOf(peer.number, key.id),
      key: derivedKey(key, peer, own),
    })),
  );
  return [...received, ...sent];
}

function uniqueBy<T>(items: readonly T[], key: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [key(item), item])).values()];
}
