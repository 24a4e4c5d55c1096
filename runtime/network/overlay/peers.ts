import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import type { NetlinkMessage, NetlinkRequest } from '../netlink/netlink.ts';
import {
  deleteForwarding,
  deleteNeighbour,
  forgetLearned,
  readForwarding,
  readNeighbour,
  setForwarding,
  setNeighbour,
} from '../netlink/neighbours.ts';
import type { OverlayPeer } from './settings.ts';

/**
 * What other hosts have in an overlay network, as entries of its VXLAN device: for each MAC the host, for each address
 * the MAC. Pure.
 */

/** Removals first: what is removed from one host and added on another stays. */
export function changeRequests(
  index: number,
  { add, remove }: { add: readonly OverlayPeer[]; remove: readonly OverlayPeer[] },
): { removals: NetlinkRequest[]; additions: NetlinkRequest[] } {
  const macs = new Set(add.map(({ mac }) => mac.toString('hex')));
  const addresses = new Set(add.flatMap((peer) => peer.addresses));
  return {
    removals: remove.flatMap((peer) => [
      ...(macs.has(peer.mac.toString('hex')) ? [] : removeMac(index, peer.mac)),
      ...peer.addresses
        .filter((address) => !addresses.has(address))
        .map((address) => deleteNeighbour(index, address)),
    ]),
    additions: add.flatMap((peer) => [
      setForwarding(index, peer),
      ...peer.addresses.map((address) => setNeighbour(index, { address, mac: peer.mac })),
    ]),
  };
}

/** What the bridge learned goes too: the address may come back on this host, behind another port. */
function removeMac(index: number, mac: Buffer): NetlinkRequest[] {
  return [deleteForwarding(index, mac), forgetLearned(index, mac)];
}

/**
 * What makes of the entries that were found those of `peers`. `wrong`: entries that are missing, have another value, or
 * are too many.
 */
export function mendRequests(
  index: number,
  peers: readonly OverlayPeer[],
  found: { forwarding: readonly NetlinkMessage[]; neighbours: readonly NetlinkMessage[] },
): { removals: NetlinkRequest[]; additions: NetlinkRequest[]; wrong: number } {
  const forwarding = mendForwarding(index, peers, found.forwarding);
  const neighbours = mendNeighbours(index, peers, found.neighbours);
  return {
    removals: [...forwarding.removals, ...neighbours.removals],
    additions: [...forwarding.additions, ...neighbours.additions],
    wrong: forwarding.wrong + neighbours.wrong,
  };
}

interface Mending {
  removals: NetlinkRequest[];
  additions: NetlinkRequest[];
  wrong: number;
}

function mendForwarding(
  index: number,
  peers: readonly OverlayPeer[],
  messages: readonly NetlinkMessage[],
): Mending {
  const wanted = new Map(peers.map((peer) => [peer.mac.toString('hex'), peer]));
  const right = new Set<string>();
  // A MAC may have several hosts, each with a line of its own: it is removed with all of them.
  const bad = new Map<string, Buffer>();
  for (const { mac, host } of messages.map(readForwarding).filter((entry) => entry !== undefined)) {
    const key = mac.toString('hex');
    if (wanted.get(key)?.host === host && host !== undefined && !right.has(key)) {
      right.add(key);
    } else {
      bad.set(key, mac);
    }
  }
  const missing = [...wanted].filter(([key]) => bad.has(key) || !right.has(key));
  return {
    removals: [...bad.values()].flatMap((mac) => removeMac(index, mac)),
    additions: missing.map(([, peer]) => setForwarding(index, peer)),
    wrong: new Set([...bad.keys(), ...missing.map(([key]) => key)]).size,
  };
}

function mendNeighbours(
  index: number,
  peers: readonly OverlayPeer[],
  messages: readonly NetlinkMessage[],
): Mending {
  const wanted = new Map<IpAddress, Buffer>(
    peers.flatMap(({ addresses, mac }) => addresses.map((address) => [address, mac] as const)),
  );
  const right = new Set<IpAddress>();
  const extra: IpAddress[] = [];
  for (const entry of messages.map(readNeighbour).filter((each) => each !== undefined)) {
    const mac = wanted.get(entry.address);
    if (mac === undefined) {
      extra.push(entry.address);
    } else if (entry.isPermanent && entry.mac?.equals(mac) === true) {
      right.add(entry.address);
    }
  }
  const missing = [...wanted].filter(([address]) => !right.has(address));
  return {
    removals: extra.map((address) => deleteNeighbour(index, address)),
    additions: missing.map(([address, mac]) => setNeighbour(index, { address, mac })),
    wrong: extra.length + missing.length,
  };
}
