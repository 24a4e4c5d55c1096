import type { Clock } from '../../daemon/base/clock.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { isIpv4 } from '../../daemon/base/addresses/ip.ts';
import type { AnySubnet, InterfaceAddress, IpAddress } from '../../daemon/base/addresses/ip.ts';
import { NETLINK } from '../../daemon/base/kernel/sockets/netlink.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type {
  Attachment,
  ParentSettings,
  SandboxInterface,
  SandboxPlan,
  DefaultRoute,
  KeptSandbox,
} from './attachment.ts';
import { addressesOf as linkAddresses, findLink } from './links/bridge.ts';
import type { BridgeSettings } from './links/bridge.ts';
import { Bridges } from './links/bridges.ts';
import { ChildLinks } from './links/child-links.ts';
import { ConntrackCleaner } from './conntrack/conntrack-cleaner.ts';
import { switchOnForwarding } from './firewall/forwarding.ts';
import { Firewall } from './firewall/firewall.ts';
import { FirewallReconciler } from './firewall/firewall-reconciler.ts';
import { hostSubnets } from './links/host-subnets.ts';
import { needsTuning, tuneInterface } from './links/interface-settings.ts';
import { LinkRemover } from './links/link-remover.ts';
import { NetlinkSocket } from './netlink/netlink-socket.ts';
import { DnsSockets } from './dns/dns-sockets.ts';
import type { NetlinkRequest } from './netlink/netlink.ts';
import { NamespaceDirectory } from './namespace-directory.ts';
import { rulesetGeneration, watchRuleset } from './firewall/ruleset-watch.ts';
import { PortReservations } from './port-reservations.ts';
import type { HostPort } from './port-reservations.ts';
import { LOOPBACK_INDEX, getLink, readLink, setLinkUp } from './netlink/links.ts';
import { deleteDefaultRoute, newAddress, setDefaultRoute, setDefaultRouteOut } from './netlink/routes.ts';
import type { PublishedPort } from './firewall/ruleset.ts';
import { Balancer } from './overlay/balancer.ts';
import { Esp } from './overlay/encryption/esp.ts';
import { Guard } from './overlay/encryption/guard.ts';
import { FlowCutter } from './overlay/flow-cutter.ts';
import { HostProbes } from './overlay/host-probes.ts';
import { KeptSockets } from './overlay/kept-sockets.ts';
import { Ingress } from './overlay/ingress/ingress.ts';
import { ReturnRoutes } from './overlay/ingress/return-routes.ts';
import { OverlayLinks } from './overlay/overlay-links.ts';
import { OverlayNetworks } from './overlay/overlay-networks.ts';
import { SandboxLinks } from './sandbox-links.ts';
import { Veths } from './links/veths.ts';

export interface KernelNetworkSettings {
  /** Where namespaces are pinned: `<exec root>/netns`. */
  namespaceDirectory: string;
  /** Where those of overlay networks are: `<exec root>/overlays`. */
  overlayDirectory: string;
  /**
   * Starts the name of every interface of this instance, so that a sweep knows its own. At most 5 characters.
   */
  interfacePrefix: string;
  /** The instance's nftables table. */
  table: string;
  /** Whether to switch on forwarding of the host; without it containers reach nothing but each other. */
  ipForward: boolean;
}

/**
 * The kernel's side of networks: namespaces, interfaces, firewall, host ports. Knows no container and no row.
 *
 * Everything is synchronous (each step is tens of microseconds) but for the removal of interfaces. Belongs on
 * the main thread of a process that sees the host's network namespace.
 */
export class KernelNetwork {
  readonly #settings: KernelNetworkSettings;
  readonly #log: Logger;
  readonly #host = new NetlinkSocket(NETLINK.route);
  readonly #netfilter = new NetlinkSocket(NETLINK.netfilter);
  readonly #namespaces: NamespaceDirectory;
  readonly #firewall: Firewall;
  readonly #reservations = new PortReservations();
  readonly #bridges: Bridges;
  readonly #keeper: FirewallReconciler;
  readonly #links: SandboxLinks;
  readonly #children: ChildLinks;
  readonly #conntrack: ConntrackCleaner;
  readonly #returns: ReturnRoutes;
  readonly #probes = new HostProbes();
  /** Name servers of sandboxes, and their questions to others. */
  readonly names: DnsSockets;
  /** Overlay networks on this host. */
  readonly overlays: OverlayNetworks;

  constructor(deps: { settings: KernelNetworkSettings; log: Logger; clock: Clock }) {
    const { settings, log } = deps;
    this.#settings = settings;
    this.#log = log;
    this.#namespaces = new NamespaceDirectory(settings.namespaceDirectory);
    const generation = (): number => rulesetGeneration(this.#netfilter);
    this.#firewall = new Firewall({ table: settings.table, log, generation });
    const guard = new Guard({ table: `${settings.table}_overlay`, log, generation });
    this.#keeper = new FirewallReconciler({
      ...deps,
      mend: () => {
        this.#firewall.mend();
        guard.mend();
      },
      watch: watchRuleset,
    });
    const walker = new NetlinkSocket(NETLINK.netfilter);
    this.#conntrack = new ConntrackCleaner({ netfilter: this.#netfilter, walker, clock: deps.clock, log });
    const remover = new LinkRemover(deps);
    const host = this.#host;
    this.#bridges = new Bridges({ host, instance: settings.table, remover, log });
    this.names = new DnsSockets({ namespaces: this.#namespaces, log });
    const prefix = settings.interfacePrefix;
    this.#children = new ChildLinks({
      host,
      namespaces: this.#namespaces,
      instance: settings.table,
      prefix,
      remover,
    });
    const overlayNamespaces = new NamespaceDirectory(settings.overlayDirectory);
    const overlays = new OverlayLinks({
      host,
      namespaces: overlayNamespaces,
      prefix,
      remover,
      log,
    });
    const places = { namespaces: overlayNamespaces, log };
    const sockets = new KeptSockets(overlayNamespaces);
    const flows = new FlowCutter(places);
    const balancer = new Balancer({ ...places, sockets, flows });
    this.#returns = new ReturnRoutes({ sandboxes: this.#namespaces, log });
    const ingress = new Ingress({
      ...places,
      returns: this.#returns,
      sockets,
      host,
      prefix,
      remover,
      flows,
      balancer,
      links: overlays,
      firewall: this.#firewall,
      conntrack: this.#conntrack,
      forward: (wanted) => settings.ipForward && switchOnForwarding(log, wanted),
    });
    const esp = new Esp({ instance: settings.table });
    const probes = this.#probes;
    this.overlays = new OverlayNetworks({ links: overlays, balancer, ingress, guard, esp, probes });
    this.#links = new SandboxLinks({
      bridges: this.#bridges,
      veths: new Veths({ host, prefix, remover }),
      children: this.#children,
      overlays,
      log,
    });
  }

  /** Networks in use on the host, but for those of the interfaces `exceptLinks`. */
  hostSubnets(exceptLinks: readonly string[]): AnySubnet[] {
    const indexes = exceptLinks.flatMap((name) => findLink(this.#host, name)?.index ?? []);
    return hostSubnets(this.#host, new Set(indexes));
  }

  /** Addresses of a link but those of the link alone, in the order in which it got them; none when there is no such. */
  linkAddresses(name: string): InterfaceAddress[] {
    const link = findLink(this.#host, name);
    return link === undefined ? [] : linkAddresses(this.#host, link);
  }

  /** Makes or mends these bridges and the firewall's tables, which then publish exactly `ports`. */
  prepare(bridges: readonly BridgeSettings[], ports: readonly PublishedPort[]): void {
    this.#forward(bridges);
    for (const bridge of bridges) {
      this.#links.mend(bridge);
    }
    failpoint('network.prepare.firewall');
    this.#firewall.rebuild(bridges, ports);
  }

  /** One more bridge, filtered before it is up. Leaves nothing when it throws. */
  async addBridge(bridge: BridgeSettings): Promise<void> {
    this.#forward([bridge]);
    failpoint('network.create.firewall');
    this.#firewall.addBridge(bridge);
    try {
      failpoint('network.create.link');
      this.#bridges.ensure(bridge);
    } catch (error) {
      await this.removeBridge(bridge);
      throw error;
    }
  }

  /** Idempotent. Its subnets are free at once, its interface is gone when the promise resolves. */
  async removeBridge(bridge: BridgeSettings): Promise<void> {
    const removed = this.#bridges.remove(bridge);
    failpoint('network.remove.firewall');
    this.#firewall.removeBridge(bridge.name);
    await removed;
  }

  addParent(parent: ParentSettings): void {
    this.#children.ensureParent(parent);
  }

  removeParent(parent: ParentSettings): Promise<void> {
    return this.#children.removeParent(parent);
  }

  /** A namespace with these interfaces, and a loopback that is up. Returns its path. Leaves nothing when it throws. */
  open(id: string, plan: SandboxPlan): string {
    this.#conntrack.allocated(plan.attachments.flatMap(addressesOf));
    const masters = plan.attachments.map((attachment) => this.#links.master(attachment));
    failpoint('network.open.netns');
    using inside = this.#namespaces.create(id);
    try {
      if (plan.attachments.length === 0) {
        failpoint('network.open.loopback');
        inside.request(id, [setLinkUp(LOOPBACK_INDEX)]);
        return this.#namespaces.path(id);
      }
      failpoint('network.open.veth');
      this.#namespaces.withDescriptor(id, (namespaceFd) => {
        plan.attachments.forEach((attachment, place) => {
          this.#links.attach(attachment, masters[place] ?? 0, namespaceFd);
        });
      });
      const indexes = plan.attachments.map((attachment) => this.#links.settle(inside, attachment));
      this.#tune(id, plan.attachments);
      failpoint('network.open.address');
      inside.request(id, [
        setLinkUp(LOOPBACK_INDEX),
        ...plan.attachments.flatMap(({ iface }, place) => configure(indexes[place] ?? 0, iface)),
        ...plan.defaultRoutes.map((defaultRoute) => this.#defaultRoute(inside, defaultRoute)),
      ]);
      plan.attachments.forEach((attachment) => this.#remember(id, attachment));
      return this.#namespaces.path(id);
    } catch (error) {
      this.close(
        id,
        plan.attachments.map(({ iface }) => iface.endpointId),
      );
      throw error;
    }
  }

  /**
   * Takes a sandbox off the network at once; its interfaces go soon after, with its namespace. Idempotent.
   */
  close(id: string, endpointIds: readonly string[]): void {
    this.#links.cut(id, endpointIds);
    this.#returns.closed(id);
    failpoint('network.close.netns');
    this.#namespaces.remove(id);
  }

  /** One more interface for an open sandbox. Leaves nothing when it throws. */
  async attachInterface(id: string, attachment: Attachment): Promise<void> {
    const master = this.#links.master(attachment);
    const { iface } = attachment;
    this.#conntrack.allocated(addressesOf(attachment));
    failpoint('network.connect.veth');
    this.#namespaces.withDescriptor(id, (namespaceFd) => {
      this.#links.attach(attachment, master, namespaceFd);
    });
    try {
      using inside = this.#namespaces.open(id);
      const index = this.#links.settle(inside, attachment);
      this.#tune(id, [attachment]);
      failpoint('network.connect.address');
      inside.request(id, configure(index, iface));
      this.#remember(id, attachment);
    } catch (error) {
      await this.detachInterface(id, iface.endpointId);
      throw error;
    }
  }

  /** Takes an interface from an open sandbox; it is gone when the promise resolves. Idempotent. */
  async detachInterface(id: string, endpointId: string): Promise<void> {
    await this.#links.pull(id, endpointId);
  }

  /** From here on an open sandbox has these ways out, or none. */
  route(id: string, defaultRoutes: readonly DefaultRoute[]): void {
    using inside = this.#namespaces.open(id);
    for (const family of ['ipv4', 'ipv6'] as const) {
      const defaultRoute = defaultRoutes.find((each) => familyOf(each) === family);
      const request =
        defaultRoute === undefined ? deleteDefaultRoute(family) : this.#defaultRoute(inside, defaultRoute);
      try {
        inside.request(id, [request]);
      } catch (error) {
        // There was none. (EAFNOSUPPORT, ...: a kernel without IPv6 has none either.)
        if (defaultRoute !== undefined) {
          throw error;
        }
      }
    }
  }

  /** Names of the interfaces in an open sandbox. */
  interfaceNames(id: string): string[] {
    using inside = this.#namespaces.open(id);
    return inside
      .dump(id, getLink())
      .map(readLink)
      .map(({ name }) => name);
  }

  /** Holds a host port. Throws KernelError EADDRINUSE or EADDRNOTAVAIL. */
  reserve(port: HostPort): void {
    this.#reservations.reserve(port);
  }

  /** Idempotent. */
  release(port: HostPort): void {
    this.#reservations.release(port);
  }

  /** These addresses belong to no container any more: soon the kernel forgets connections from and to them. */
  forgetFlows(addresses: readonly IpAddress[]): void {
    this.#conntrack.released(addresses);
  }

  publish(ports: readonly PublishedPort[]): void {
    this.#firewall.publish(ports);
    this.#conntrack.forgetFlowsTo(ports);
  }

  /** Those that are not published are no error. */
  unpublish(ports: readonly PublishedPort[]): void {
    this.#firewall.unpublish(ports);
    this.#conntrack.forgetFlowsTo(ports);
  }

  /**
   * Removes every namespace, interface and bridge of this instance but those of `live` sandboxes and of networks of
   * these ids, and takes these over.
   */
  async sweep(
    networkIds: readonly string[],
    bridges: readonly BridgeSettings[],
    live: readonly KeptSandbox[],
  ): Promise<void> {
    const ids = new Set(live.map(({ id }) => id));
    for (const orphan of this.#namespaces.list().filter((id) => !ids.has(id))) {
      failpoint('network.restore.netns');
      this.#namespaces.remove(orphan);
      this.#log.info({ namespace: orphan }, 'orphaned network namespace removed');
    }
    this.#links.sweep(bridges, live);
    for (const { id, overlays = [] } of live) {
      overlays.forEach(({ networkId, addresses }) => this.#returns.opened(networkId, id, addresses));
    }
    await this.#bridges.sweep(networkIds);
  }

  /** Stops looking after the firewall; touches no network. */
  [Symbol.dispose](): void {
    this.#keeper[Symbol.dispose]();
    this.#probes[Symbol.dispose]();
  }

  #defaultRoute(inside: NetlinkSocket, defaultRoute: DefaultRoute): NetlinkRequest {
    return 'router' in defaultRoute
      ? setDefaultRoute(defaultRoute.router)
      : setDefaultRouteOut(defaultRoute.family, this.#children.index(inside, defaultRoute.endpointId));
  }

  #forward(bridges: readonly BridgeSettings[]): void {
    if (this.#settings.ipForward) {
      switchOnForwarding(this.#log, {
        ipv6: bridges.some(({ addresses }) => addresses.some(({ address }) => !isIpv4(address))),
      });
    }
  }

  #remember(id: string, attachment: Attachment): void {
    if ('overlay' in attachment) {
      this.#returns.opened(attachment.overlay.networkId, id, addressesOf(attachment));
    }
  }

  #tune(id: string, attachments: readonly Attachment[]): void {
    const wanted = attachments.map(({ iface }) => iface).filter(needsTuning);
    if (wanted.length > 0) {
      this.#namespaces.enter(id, () => wanted.forEach(tuneInterface));
    }
  }
}

function familyOf(defaultRoute: DefaultRoute): 'ipv4' | 'ipv6' {
  if ('router' in defaultRoute) {
    return isIpv4(defaultRoute.router) ? 'ipv4' : 'ipv6';
  }
  return defaultRoute.family;
}

function addressesOf({ iface }: Attachment): IpAddress[] {
  return iface.addresses.map(({ address }) => address);
}

function configure(index: number, { addresses, linkLocal }: SandboxInterface): NetlinkRequest[] {
  const all = [...addresses, ...linkLocal];
  return [...all.map((address) => newAddress(index, address)), setLinkUp(index)];
}
