import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { freeSubnet, freeSubnet6, uniqueLocalSupply } from '../../../../daemon/base/addresses/free-subnet.ts';
import { isIpv4, isSubnet4, overlapsAny, subnetOfInterface } from '../../../../daemon/base/addresses/ip.ts';
import type { AnySubnet, InterfaceAddress } from '../../../../daemon/base/addresses/ip.ts';
import { macOfAddress, subnetOf } from '../../../../daemon/base/addresses/ipv4.ts';
import { errnoOf } from '../../../../daemon/base/errors.ts';
import { failpoint } from '../../../../daemon/base/failpoint.ts';
import type { MeshWay } from '../../firewall/ruleset.ts';
import { addressesOf, findLink, linkNamed } from '../../links/bridge.ts';
import { hostSubnets } from '../../links/host-subnets.ts';
import type { LinkRemover } from '../../links/link-remover.ts';
import { deleteLink, newVethPair, setLinkAlias, setLinkMtu, setLinkUp } from '../../netlink/links.ts';
import type { Link } from '../../netlink/links.ts';
import type { NetlinkSocket } from '../../netlink/netlink-socket.ts';
import { deleteAddress, newAddress, setDefaultRoute, setLoopbackRoute6 } from '../../netlink/routes.ts';
import { allowIpv6 } from '../sandbox-settings.ts';
import { WAY_INSIDE } from './mesh-rules.ts';

/**
 * Four addresses of the link. Of those that are never routed, far from the ones at which clouds have services; where
 * the host has that whole range on a link of its own, of those for measurements.
 */
const SUPPLIES = [0xa9fe4000, 0xc6134000].map((base) => ({ base: subnetOf(base, 18), size: 30 }));
const PREFIX_LENGTHS = { ipv4: 30, ipv6: 126 } as const;

/** The namespace that the link leads into. */
interface Place {
  networkId: string;
  inside: NetlinkSocket;
  /** Runs something in there. */
  enter: (work: () => void) => void;
  withDescriptor: (work: (fd: number) => void) => void;
}

/**
 * A veth pair between the host and the ingress network's namespace, `<prefix>ingress` here and `host0` there, in a
 * subnet of its own. The alias of our end says which network it leads to.
 */
export class IngressLink {
  readonly #host: NetlinkSocket;
  readonly #remover: LinkRemover;
  readonly #prefix: string;

  constructor(deps: { host: NetlinkSocket; remover: LinkRemover; prefix: string }) {
    this.#host = deps.host;
    this.#remover = deps.remover;
    this.#prefix = deps.prefix;
  }

  /** Never one of a container's: those have ten digits after the prefix. */
  get name(): string {
    return `${this.#prefix}ingress`;
  }

  /** Makes or mends it. Idempotent. */
  ensure(place: Place, { mtu, ipv6 }: { mtu: number; ipv6: boolean }): MeshWay {
    const found = this.#found(place);
    const link = found ?? this.#make(place, mtu);
    const ends = this.#subnets(link, ipv6).map((subnet) => endsOf(subnet));
    const other = linkNamed(place.inside, WAY_INSIDE);
    failpoint('overlay.ingress.address');
    setHostLink(link.name, ipv6);
    if (ipv6) {
      place.enter(() => {
        allowIpv6(WAY_INSIDE);
      });
    }
    this.#host.request(link.name, [
      ...(link.mtu === mtu ? [] : [setLinkMtu(link.index, mtu)]),
      ...this.#foreign(
        this.#host,
        link,
        ends.map(({ here }) => here),
      ),
      setLinkUp(link.index),
      ...ends.map(({ here }) => newAddress(link.index, here)),
      ...(ipv6 ? [setLoopbackRoute6(link.index)] : []),
    ]);
    place.inside.request(WAY_INSIDE, [
      ...(other.mtu === mtu ? [] : [setLinkMtu(other.index, mtu)]),
      ...this.#foreign(
        place.inside,
        other,
        ends.map(({ there }) => there),
      ),
      setLinkUp(other.index),
      ...ends.map(({ there }) => newAddress(other.index, there)),
      ...ends.map(({ here }) => setDefaultRoute(here.address)),
    ]);
    return { link: link.name, addresses: ends.map(({ there }) => there.address) };
  }

  /** The network that it leads to; undefined when there is no link. */
  networkId(): string | undefined {
    return findLink(this.#host, this.name)?.alias;
  }

  /** Resolves when it is gone. Idempotent. A failure is logged. */
  remove(): Promise<void> {
    return this.#remover.removeNow(this.name);
  }

  /** At once, on the way back from a failure. Idempotent. */
  discard(): void {
    if (findLink(this.#host, this.name) !== undefined) {
      try {
        this.#host.request(this.name, [deleteLink(this.name)]);
      } catch (error) {
        if (errnoOf(error) !== 'ENODEV') {
          throw error;
        }
      }
    }
  }

  /** One that leads elsewhere, or whose other end is gone with its namespace, is taken away. */
  #found({ networkId, inside }: Place): Link | undefined {
    const here = findLink(this.#host, this.name);
    const there = findLink(inside, WAY_INSIDE);
    if (here !== undefined && here.kind === 'veth' && here.alias === networkId && there?.kind === 'veth') {
      return here;
    }
    this.discard();
    if (findLink(inside, WAY_INSIDE) !== undefined) {
      inside.request(WAY_INSIDE, [deleteLink(WAY_INSIDE)]);
    }
    return undefined;
  }

  #make({ networkId, withDescriptor }: Place, mtu: number): Link {
    failpoint('overlay.ingress.link');
    withDescriptor((namespaceFd) => {
      const peer = { name: WAY_INSIDE, mac: macOfAddress(SUPPLIES[0]?.base.base ?? 0), namespaceFd };
      this.#host.request(this.name, [
        newVethPair({ name: this.name, master: 0, mtu, peer }),
        setLinkAlias(this.name, networkId),
      ]);
    });
    return linkNamed(this.#host, this.name);
  }

  /** Those that it has, where nothing else of the host has them; otherwise free ones. */
  #subnets(link: Link, ipv6: boolean): AnySubnet[] {
    const used = hostSubnets(this.#host, new Set([link.index]));
    const own = addressesOf(this.#host, link)
      .filter(
        ({ address, prefixLength }) => prefixLength === PREFIX_LENGTHS[isIpv4(address) ? 'ipv4' : 'ipv6'],
      )
      .map(subnetOfInterface)
      .filter((subnet) => !used.some((each) => overlapsAny(each, subnet)));
    const supply6 = uniqueLocalSupply(createHash('sha256').update(this.name).digest('hex'));
    const four = own.find(isSubnet4) ?? freeSubnet(SUPPLIES, used.filter(isSubnet4));
    if (!ipv6) {
      return [four];
    }
    const six =
      own.find((subnet) => !isSubnet4(subnet)) ??
      freeSubnet6(
        [{ ...supply6, size: PREFIX_LENGTHS.ipv6 }],
        used.flatMap((subnet) => (isSubnet4(subnet) ? [] : [subnet])),
      );
    return [four, six];
  }

  #foreign(
    socket: NetlinkSocket,
    link: Link,
    wanted: readonly InterfaceAddress[],
  ): ReturnType<typeof deleteAddress>[] {
    return addressesOf(socket, link)
      .filter(({ address, prefixLength }) =>
        wanted.every((each) => each.address !== address || each.prefixLength !== prefixLength),
      )
      .map((address) => deleteAddress(link.index, address));
  }
}

function endsOf(subnet: AnySubnet): { here: InterfaceAddress; there: InterfaceAddress } {
  const at = (offset: number): InterfaceAddress => ({
    address: isSubnet4(subnet) ? subnet.base + offset : subnet.base + BigInt(offset),
    prefixLength: subnet.prefixLength,
  });
  return { here: at(1), there: at(2) };
}

/** 127.0.0.1 of the host leads there too; the firewall keeps what comes from there out of 127.0.0.0/8. */
function setHostLink(name: string, ipv6: boolean): void {
  writeFileSync(`/proc/sys/net/ipv4/conf/${name}/route_localnet`, '1');
  try {
    // As `allowIpv6`.
    writeFileSync(`/proc/sys/net/ipv6/conf/${name}/accept_ra`, '0');
    writeFileSync(`/proc/sys/net/ipv6/conf/${name}/accept_dad`, '0');
    writeFileSync(`/proc/sys/net/ipv6/conf/${name}/disable_ipv6`, ipv6 ? '0' : '1');
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || ipv6) {
      throw error;
    }
    // A kernel without IPv6 has nothing to switch off.
  }
}
