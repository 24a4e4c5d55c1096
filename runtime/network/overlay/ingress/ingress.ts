import { formatIp, isIpv4 } from '../../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../../daemon/base/addresses/ip.ts';
import { macOfAddress } from '../../../../daemon/base/addresses/ipv4.ts';
import { internal } from '../../../../daemon/base/errors.ts';
import { failpoint } from '../../../../daemon/base/failpoint.ts';
import type { Logger } from '../../../../daemon/base/logger.ts';
import type { ConntrackCleaner } from '../../conntrack/conntrack-cleaner.ts';
import type { Firewall } from '../../firewall/firewall.ts';
import type { MeshEntry, MeshWay } from '../../firewall/ruleset.ts';
import { linkNamed } from '../../links/bridge.ts';
import type { LinkRemover } from '../../links/link-remover.ts';
import type { NamespaceDirectory } from '../../namespace-directory.ts';
import type { NetlinkSocket } from '../../netlink/netlink-socket.ts';
import type { Balancer } from '../balancer.ts';
import { answerAlways } from '../balancer.ts';
import type { FlowCutter } from '../flow-cutter.ts';
import type { KeptSockets } from '../kept-sockets.ts';
import { OVERLAY_BRIDGE } from '../overlay-devices.ts';
import type { OverlayLinks } from '../overlay-links.ts';
import type { IngressSettings, MeshPort } from '../settings.ts';
import { IngressLink } from './ingress-link.ts';
import { meshKey, portOfKey } from './mesh-rules.ts';
import { MeshTables } from './mesh-tables.ts';
import type { ReturnRoutes } from './return-routes.ts';

/** The ingress network while it is open. */
interface Open {
  networkId: string;
  nodes: readonly IpAddress[];
  tables: MeshTables;
  way: MeshWay;
  /** Keys of the ports that the host leads there. */
  led: ReadonlySet<string>;
}

interface Deps {
  host: NetlinkSocket;
  namespaces: NamespaceDirectory;
  sockets: KeptSockets;
  prefix: string;
  remover: LinkRemover;
  flows: FlowCutter;
  balancer: Balancer;
  links: OverlayLinks;
  returns: ReturnRoutes;
  firewall: Pick<Firewall, 'setMesh'>;
  conntrack: Pick<ConntrackCleaner, 'forgetFlowsTo'>;
  /** Lets the host pass packets on, where the engine is to see to that. */
  forward: (wanted: { ipv6: boolean }) => void;
  log: Logger;
}

/**
 * The ingress network on this host: an overlay network, a link into it from the host, and the published ports of the
 * swarm, which the host's firewall leads there and a table in there spreads over tasks.
 */
export class Ingress {
  readonly #deps: Deps;
  readonly #link: IngressLink;
  #open: Open | undefined;
  /** What was asked for last, by the key of its spread; undefined = nothing since the daemon's start. */
  #asked: ReadonlyMap<string, MeshPort> | undefined;
  /** The namespace has what was asked for last, unless another program changed it. */
  #isSpread = false;
  #closing: Promise<void> | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#link = new IngressLink(deps);
  }

  /** Makes or mends it. Idempotent; leaves nothing when it throws. */
  open(settings: IngressSettings): void {
    const { links, firewall } = this.#deps;
    const { networkId, nodeAddresses } = settings;
    if (this.#closing !== undefined) {
      throw internal(`ingress network ${networkId}: the one before is being removed from this host`);
    }
    const isNew = !links.list().includes(networkId);
    const four = nodeAddresses.map(({ address }) => address).find(isIpv4);
    // What tasks are sent comes from an address of this host, and answers to that: the bridge hands these on by itself.
    links.open({ ...settings, ...(four === undefined ? {} : { mac: macOfAddress(four) }) }, 'none');
    try {
      this.#open = this.#furnish(settings);
    } catch (error) {
      if (isNew) {
        this.#open = undefined;
        this.#link.discard();
        this.#forget(networkId);
        links.discard(networkId);
        firewall.setMesh(NO_MESH);
      }
      throw error;
    }
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close().finally(() => (this.#closing = undefined));
    return this.#closing;
  }

  /**
   * Exactly these ports from now on: in the namespace first, so that the host leads nobody to a port that is not. Only
   * what is not as it was asked for last is looked at.
   */
  mesh(ports: readonly MeshPort[]): void {
    const open = this.#open;
    if (open === undefined) {
      throw internal('published ports of the swarm: there is no ingress network on this host');
    }
    failpoint('overlay.mesh.inside');
    const wanted = byKey(ports);
    const before = this.#isSpread ? this.#asked : undefined;
    this.#isSpread = false;
    open.tables.change(open.tables.changed(wanted, before), wanted);
    this.#asked = wanted;
    this.#isSpread = true;
    failpoint('overlay.mesh.host');
    this.#lead(open, new Set(wanted.keys()));
  }

  #furnish(settings: IngressSettings): Open {
    const { namespaces, balancer, firewall, forward } = this.#deps;
    const { networkId } = settings;
    const nodes = settings.nodeAddresses.map(({ address }) => address);
    const ipv6 = nodes.some((address) => !isIpv4(address));
    forward({ ipv6 });
    failpoint('overlay.ingress.rules');
    const before = this.#open?.networkId === networkId ? this.#open : undefined;
    const isSame = before !== undefined && isSameList(before.nodes, nodes);
    const tables = isSame ? before.tables : new MeshTables({ ...this.#deps, networkId, nodes });
    namespaces.enter(networkId, answerAlways);
    tables.mend(this.#asked);
    using inside = namespaces.open(networkId);
    const { mtu } = linkNamed(inside, OVERLAY_BRIDGE);
    const place = {
      networkId,
      inside,
      enter: (work: () => void) => {
        namespaces.enter(networkId, work);
      },
      withDescriptor: (work: (fd: number) => void) => {
        namespaces.withDescriptor(networkId, work);
      },
    };
    const way = this.#link.ensure(place, { mtu, ipv6 });
    failpoint('overlay.ingress.own');
    balancer.keepAddresses(networkId, nodes);
    failpoint('overlay.ingress.firewall');
    const led = new Set(tables.keys);
    firewall.setMesh({ way, ports: [...led].flatMap(portOfKey) });
    return { networkId, nodes, tables, way, led };
  }

  #lead(open: Open, wanted: ReadonlySet<string>): void {
    const { firewall, conntrack } = this.#deps;
    const changed = [...wanted].filter((key) => !open.led.has(key));
    changed.push(...[...open.led].filter((key) => !wanted.has(key)));
    if (changed.length === 0) {
      return;
    }
    firewall.setMesh({ way: open.way, ports: [...wanted].flatMap(portOfKey) });
    open.led = wanted;
    const ports = changed.flatMap(portOfKey);
    conntrack.forgetFlowsTo(
      ports.flatMap((port) => open.way.addresses.map((each) => ({ ...port, hostAddress: anyOf(each) }))),
    );
  }

  /** What is left by an earlier daemon is found by the link. */
  async #close(): Promise<void> {
    const { firewall, balancer, links } = this.#deps;
    const networkId = this.#open?.networkId ?? this.#link.networkId();
    failpoint('overlay.ingress.unpublish');
    firewall.setMesh(NO_MESH);
    this.#open = undefined;
    this.#asked = undefined;
    if (networkId !== undefined && networkId !== '') {
      failpoint('overlay.ingress.close');
      await links.close(networkId);
      await balancer.closed(networkId);
    }
    failpoint('overlay.ingress.unlink');
    await this.#link.remove();
  }

  #forget(networkId: string): void {
    const { balancer, log } = this.#deps;
    balancer.closed(networkId).catch((err: unknown) => {
      log.warn({ network: networkId, err }, 'sockets in a discarded ingress network');
    });
  }
}

const NO_MESH: MeshEntry = { way: undefined, ports: [] };

function byKey(ports: readonly MeshPort[]): Map<string, MeshPort> {
  return new Map(
    ports.map((port) => [meshKey({ protocol: port.protocol, hostPort: port.published }), port] as const),
  );
}

function anyOf(address: IpAddress): IpAddress {
  return isIpv4(address) ? 0 : 0n;
}

function isSameList(one: readonly IpAddress[] | undefined, other: readonly IpAddress[]): boolean {
  return one?.map(formatIp).join() === other.map(formatIp).join();
}
