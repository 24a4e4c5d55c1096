import { writeFileSync } from 'node:fs';
import { addressBytes } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { ipv6OfBytes } from '../../../daemon/base/addresses/ipv6.ts';
import { ifThere } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { linkNamed } from '../links/bridge.ts';
import type { NamespaceDirectory } from '../namespace-directory.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { deleteAddress, getAddresses, newAddress, readAddress } from '../netlink/routes.ts';
import type { Family } from '../nftables/expressions.ts';
import type { FlowCutter } from './flow-cutter.ts';
import type { KeptSockets } from './kept-sockets.ts';
import { OVERLAY_BRIDGE } from './overlay-devices.ts';
import { addressForm, digitsOf, familyOf } from './overlay-rules.ts';
import type { BalancedAddress } from './settings.ts';
import { SpreadTable } from './spread-table.ts';

const FAMILIES = ['ip', 'ip6'] as const satisfies readonly Family[];

/** Sockets in a network's namespace. */
interface Place {
  route: NetlinkSocket;
  netfilter: NetlinkSocket;
  bridge: number;
}

/** Targets of new flows to an address; undefined = the address is gone. */
type Wanted = Map<string, readonly string[] | undefined>;

/**
 * Virtual addresses of overlay networks. New flows to one go to its backends in turn, with the client's address, by
 * rules of nftables for what the network's bridge carries (needs br_netfilter).
 *
 * Each address is one of the bridge on every host that has the network, so that ARP and ping are answered on the spot.
 */
export class Balancer {
  readonly #namespaces: NamespaceDirectory;
  readonly #flows: FlowCutter;
  readonly #sockets: KeptSockets;
  readonly #log: Logger;
  readonly #networks = new Map<string, Record<Family, SpreadTable>>();
  /** Addresses of the bridge that are of the host, not virtual. */
  readonly #own = new Map<string, readonly IpAddress[]>();

  constructor(deps: {
    namespaces: NamespaceDirectory;
    sockets: KeptSockets;
    flows: FlowCutter;
    log: Logger;
  }) {
    this.#namespaces = deps.namespaces;
    this.#flows = deps.flows;
    this.#sockets = deps.sockets;
    this.#log = deps.log;
  }

  /** Sets what answers at these addresses, each family in one transaction. Of `gone` nothing answers any more. */
  balance(networkId: string, changed: readonly BalancedAddress[], gone: readonly IpAddress[]): void {
    this.#in(networkId, (place) => {
      for (const family of FAMILIES) {
        const wanted: Wanted = new Map(
          gone.filter(isOf(family)).map((vip) => [digitsOf(vip), undefined] as const),
        );
        const own = changed.filter(({ vip }) => isOf(family)(vip));
        own.forEach(({ vip, backends }) => wanted.set(digitsOf(vip), backends.map(digitsOf)));
        if (wanted.size > 0) {
          failpoint('overlay.balance.rules');
          this.#flows.keep(
            networkId,
            own.flatMap(({ backends }) => backends),
          );
          const lost = this.#tables(networkId)[family].change(place.netfilter, wanted);
          this.#cutUdp(networkId, lost);
        }
      }
      failpoint('overlay.balance.address');
      place.route.requestAll(
        networkId,
        changed.map(({ vip }) => newAddress(place.bridge, alone(vip))),
      );
      place.route.requestAll(
        networkId,
        gone.map((vip) => deleteAddress(place.bridge, alone(vip))),
        NOT_THERE,
      );
    });
  }

  /** Compares all addresses with these and mends them. Answers how many were wrong. */
  mendBalance(networkId: string, all: readonly BalancedAddress[]): number {
    return this.#in(networkId, (place) => {
      const wrong = FAMILIES.flatMap((family) => [
        ...this.#mendRules(
          networkId,
          place,
          family,
          all.filter(({ vip }) => isOf(family)(vip)),
        ),
      ]);
      const addresses = this.#mendAddresses(networkId, place, all);
      return new Set([...wrong, ...addresses]).size;
    });
  }

  /** Ends flows through virtual addresses to a backend that is gone: TCP gets a reset, UDP goes elsewhere. */
  forgetBackend(networkId: string, backend: IpAddress): void {
    this.#flows.cut(networkId, [backend], 'all');
  }

  /** Of a backend that does not answer: connections that are not made yet go elsewhere, and UDP. */
  forgetUnanswered(networkId: string, backend: IpAddress): void {
    this.#flows.cut(networkId, [backend], 'unanswered');
  }

  /** From here on the bridge has these addresses besides, which are of the host alone. */
  keepAddresses(networkId: string, addresses: readonly IpAddress[]): void {
    const before = this.#own.get(networkId) ?? [];
    this.#own.set(networkId, addresses);
    this.#in(networkId, ({ route, bridge }) => {
      route.requestAll(
        networkId,
        addresses.map((address) => newAddress(bridge, alone(address))),
      );
      const gone = before.filter((address) => !addresses.includes(address));
      route.requestAll(
        networkId,
        gone.map((address) => deleteAddress(bridge, alone(address))),
        NOT_THERE,
      );
    });
  }

  /** The network's namespace is gone, with all that was in it. Never rejects. */
  async closed(networkId: string): Promise<void> {
    this.#networks.delete(networkId);
    this.#own.delete(networkId);
    await Promise.all([this.#sockets.close(networkId), this.#flows.closed(networkId)]);
  }

  #mendRules(
    networkId: string,
    { netfilter }: Place,
    family: Family,
    own: readonly BalancedAddress[],
  ): Set<string> {
    const table = this.#tables(networkId)[family];
    if (own.length === 0 && !table.isThere(netfilter)) {
      return new Set();
    }
    failpoint('overlay.balance.mend');
    this.#flows.keep(
      networkId,
      own.flatMap(({ backends }) => backends),
    );
    const spreads = new Map(own.map(({ vip, backends }) => [digitsOf(vip), backends.map(digitsOf)] as const));
    const { wrong, lost } = table.mend(netfilter, spreads);
    this.#cutUdp(networkId, lost);
    return wrong;
  }

  /** Answers those that were wrong. */
  #mendAddresses(networkId: string, place: Place, all: readonly BalancedAddress[]): Set<string> {
    const found = place.route
      .dump(networkId, getAddresses())
      .map(readAddress)
      .filter(({ index, isLinkLocal, address, prefixLength }) => {
        const isAlone = prefixLength === alone(address).prefixLength;
        return index === place.bridge && !isLinkLocal && isAlone;
      })
      .map(({ address }) => address);
    const wanted = new Set([...all.map(({ vip }) => vip), ...(this.#own.get(networkId) ?? [])]);
    const there = new Set(found);
    const missing = [...wanted].filter((vip) => !there.has(vip));
    const foreign = found.filter((address) => !wanted.has(address));
    place.route.requestAll(
      networkId,
      missing.map((vip) => newAddress(place.bridge, alone(vip))),
    );
    place.route.requestAll(
      networkId,
      foreign.map((vip) => deleteAddress(place.bridge, alone(vip))),
      NOT_THERE,
    );
    return new Set([...missing, ...foreign].map(digitsOf));
  }

  #cutUdp(networkId: string, lost: readonly string[]): void {
    this.#flows.cut(networkId, lost.map(addressOfDigits), 'udp');
  }

  #tables(networkId: string): Record<Family, SpreadTable> {
    const known = this.#networks.get(networkId);
    if (known !== undefined) {
      return known;
    }
    const table = (family: Family): SpreadTable =>
      new SpreadTable({
        form: addressForm(family),
        object: `balance of network ${networkId}, ${family}`,
        log: this.#log,
      });
    const made = { ip: table('ip'), ip6: table('ip6') };
    this.#namespaces.enter(networkId, answerAlways);
    this.#networks.set(networkId, made);
    return made;
  }

  #in<T>(networkId: string, work: (place: Place) => T): T {
    using route = this.#namespaces.open(networkId);
    const bridge = linkNamed(route, OVERLAY_BRIDGE).index;
    return work({ route, netfilter: this.#sockets.of(networkId), bridge });
  }
}

const NOT_THERE: ReadonlySet<string> = new Set(['EADDRNOTAVAIL']);

function isOf(family: Family): (address: IpAddress) => boolean {
  return (address) => familyOf(address) === family;
}

/** An address without a subnet. */
function alone(address: IpAddress): { address: IpAddress; prefixLength: number } {
  return { address, prefixLength: 8 * addressBytes(address).length };
}

export function addressOfDigits(digits: string): IpAddress {
  const bytes = Buffer.from(digits, 'hex');
  return bytes.length === 4 ? bytes.readUInt32BE(0) : ipv6OfBytes(bytes);
}

/** In this namespace each refusal is told, not a few in a second. */
export function answerAlways(): void {
  for (const file of ['ipv4/icmp_ratelimit', 'ipv6/icmp/ratelimit']) {
    ifThere(() => writeFileSync(`/proc/sys/net/${file}`, '0'));
  }
}
