import type { Clock } from '../../daemon/base/clock.ts';
import { errnoOf } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import type { Subnet } from '../../daemon/base/ipv4.ts';
import { NETLINK } from '../../daemon/base/kernel/netlink.ts';

import type { Logger } from '../../daemon/base/log.ts';
import { ensureBridge, findLink } from './bridge.ts';
import type { BridgeSettings } from './bridge.ts';
import { forgetUdpFlows } from './conntrack.ts';
import { switchOnForwarding } from './forwarding.ts';
import { Firewall } from './firewall.ts';
import { hostSubnets } from './host-subnets.ts';
import { LinkRemover } from './link-remover.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import { NamespaceDirectory } from './netns.ts';
import type { NetlinkRequest } from './netlink.ts';
import { PortReservations } from './reservations.ts';
import type { HostPort } from './reservations.ts';
import * as rtnetlink from './rtnetlink.ts';
import type { PublishedPort } from './ruleset.ts';

export interface KernelNetworkSettings {
  /** Where namespaces are pinned: `<exec root>/netns`. */
  namespaceDirectory: string;
  /**
   * Starts the name of every interface of this instance, so that a sweep knows its own. At most 5 characters.
   */
  interfacePrefix: string;
  /** The instance's nftables table. */
  table: string;
  /** Whether to switch on IPv4 forwarding of the host; without it containers reach nothing but each other. */
  ipForward: boolean;
}

/** The interface that a sandbox gets in the bridge. */
export interface SandboxInterface {
  endpointId: string;
  address: number;
  prefixLength: number;
  gateway: number;
  mac: Buffer;
  mtu: number;
}

/** Index of `eth0` in every sandbox: chosen, so that nobody need ask for it. */
const ETH0_INDEX = 2;
/** Namespaces take 10 to 60 ms to die; past this the interface is removed by hand. */
const LINK_GRACE_MS = 250;

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
  readonly #remover: LinkRemover;
  /**
   * Interfaces of open sandboxes. Those of closed ones may still exist, and must not come back into the
   * bridge.
   */
  readonly #plugged = new Set<string>();

  constructor(deps: { settings: KernelNetworkSettings; log: Logger; clock: Clock }) {
    this.#settings = deps.settings;
    this.#log = deps.log;
    this.#namespaces = new NamespaceDirectory(deps.settings.namespaceDirectory);
    this.#firewall = new Firewall({ table: deps.settings.table, log: deps.log });
    this.#remover = new LinkRemover(deps);
  }

  /** IPv4 networks in use on the host, but for those of the interface `exceptLink`. */
  hostSubnets(exceptLink: string): Subnet[] {
    return hostSubnets(this.#host, findLink(this.#host, exceptLink)?.index ?? 0);
  }

  /** Makes or mends the bridge and the firewall's table, which then publishes exactly `ports`. */
  prepare(bridge: BridgeSettings, ports: readonly PublishedPort[]): void {
    if (this.#settings.ipForward) {
      switchOnForwarding(this.#log);
    }
    this.#mendBridge(bridge);
    failpoint('network.prepare.firewall');
    this.#firewall.rebuild(bridge, ports);
  }

  /** A namespace in which nothing but the loopback interface is up. Returns its path. */
  openIsolated(id: string): string {
    failpoint('network.open.netns');
    using inside = this.#namespaces.create(id);
    inside.request(id, [rtnetlink.setLinkUp(rtnetlink.LOOPBACK_INDEX)]);
    return this.#namespaces.path(id);
  }

  /** A namespace with `eth0` in the bridge. Returns its path. Leaves nothing when it throws. */
  openBridged(id: string, bridge: BridgeSettings, sandbox: SandboxInterface): string {
    const master = this.#bridgeIndex(bridge);
    failpoint('network.open.netns');
    using inside = this.#namespaces.create(id);
    try {
      failpoint('network.open.veth');
      this.#namespaces.withDescriptor(id, (namespaceFd) => {
        const peer = { name: 'eth0', index: ETH0_INDEX, mac: sandbox.mac, namespaceFd };
        const name = this.#linkName(sandbox.endpointId);
        this.#host.request(name, [
          rtnetlink.newVethPair({ name, master, mtu: sandbox.mtu, peer }),
          rtnetlink.setHairpin(name),
        ]);
        this.#plugged.add(name);
      });
      failpoint('network.open.address');
      inside.request(id, [
        rtnetlink.setLinkUp(rtnetlink.LOOPBACK_INDEX),
        rtnetlink.newAddress(ETH0_INDEX, sandbox.address, sandbox.prefixLength),
        rtnetlink.setLinkUp(ETH0_INDEX),
        rtnetlink.newDefaultRoute(sandbox.gateway),
      ]);
      return this.#namespaces.path(id);
    } catch (error) {
      this.close(id, sandbox.endpointId);
      throw error;
    }
  }

  /**
   * Takes a sandbox off the network at once; its interface goes soon after, with its namespace. Idempotent.
   * `endpointId` undefined = it had no interface.
   */
  close(id: string, endpointId: string | undefined): void {
    if (endpointId !== undefined) {
      this.#unplug(this.#linkName(endpointId));
    }
    failpoint('network.close.netns');
    this.#namespaces.remove(id);
  }

  /** Holds a host port. Throws KernelError EADDRINUSE or EADDRNOTAVAIL. */
  reserve(port: HostPort): void {
    this.#reservations.reserve(port);
  }

  /** Idempotent. */
  release(port: HostPort): void {
    this.#reservations.release(port);
  }

  publish(ports: readonly PublishedPort[]): void {
    this.#firewall.publish(ports);
    this.#forgetFlows(ports);
  }

  /** Those that are not published are no error. */
  unpublish(ports: readonly PublishedPort[]): void {
    this.#firewall.unpublish(ports);
    this.#forgetFlows(ports);
  }

  /**
   * Removes every namespace and interface of this instance but those of `live` sandboxes, and takes these
   * over.
   */
  sweep(bridge: BridgeSettings, live: readonly { id: string; endpointId: string | undefined }[]): void {
    const ids = new Set(live.map(({ id }) => id));
    for (const stray of this.#namespaces.list().filter((id) => !ids.has(id))) {
      failpoint('network.restore.netns');
      this.#namespaces.remove(stray);
      this.#log.info({ namespace: stray }, 'stray network namespace removed');
    }
    const links = new Set(live.flatMap(({ endpointId }) => endpointId ?? []).map((id) => this.#linkName(id)));
    for (const { name } of this.#ownLinks().filter((link) => !links.has(link.name))) {
      failpoint('network.restore.link');
      this.#unplug(name);
      this.#log.info({ link: name }, 'stray interface taken away');
    }
    for (const name of links) {
      this.#plugged.add(name);
    }
    this.#replug(this.#bridgeIndex(bridge));
  }

  #linkName(endpointId: string): string {
    return `${this.#settings.interfacePrefix}${endpointId.slice(0, 10)}`;
  }

  #ownLinks(): rtnetlink.Link[] {
    const form = new RegExp(`^${this.#settings.interfacePrefix}[0-9a-f]{10}$`);
    return this.#host
      .dump('interfaces', rtnetlink.getLink())
      .map(rtnetlink.readLink)
      .filter(({ name, kind }) => kind === 'veth' && form.test(name));
  }

  /** The bridge's index; somebody may have deleted it or taken it down since the last time. */
  #bridgeIndex(bridge: BridgeSettings): number {
    const link = findLink(this.#host, bridge.name);
    return link?.up === true ? link.index : this.#mendBridge(bridge);
  }

  #mendBridge(bridge: BridgeSettings): number {
    failpoint('network.prepare.bridge');
    const { index } = ensureBridge(this.#host, bridge, this.#log);
    this.#replug(index);
    return index;
  }

  /**
   * Open sandboxes lose their place in the bridge when somebody deletes it; a new one of its name takes them
   * in.
   */
  #replug(master: number): void {
    const lost = this.#plugged.size === 0 ? [] : this.#ownLinks();
    for (const port of lost.filter((link) => this.#plugged.has(link.name) && link.master !== master)) {
      this.#changeLink(port.name, [
        rtnetlink.setLinkMaster(port.index, master),
        rtnetlink.setHairpin(port.name),
      ]);
    }
  }

  /**
   * Nothing passes the port from here on, whoever still holds the namespace: the address is free for others.
   */
  #unplug(name: string): void {
    failpoint('network.close.unplug');
    this.#plugged.delete(name);
    const link = findLink(this.#host, name);
    if (link === undefined) {
      return;
    }
    failpoint('network.close.unplugging');
    if (link.master !== 0) {
      this.#changeLink(name, [rtnetlink.setLinkMaster(link.index, 0)]);
    }
    this.#remover.removeLater(name, LINK_GRACE_MS);
  }

  /** A link goes by itself when the namespace of its peer dies, at any moment: also since we looked. */
  #changeLink(name: string, requests: readonly NetlinkRequest[]): void {
    try {
      this.#host.request(name, requests);
    } catch (error) {
      if (errnoOf(error) !== 'ENODEV') {
        throw error;
      }
    }
  }

  #forgetFlows(ports: readonly PublishedPort[]): void {
    for (const port of ports.filter(({ protocol }) => protocol === 'udp')) {
      try {
        forgetUdpFlows(this.#netfilter, port);
      } catch (error) {
        // Linux before 5.8 cannot filter. Old flows then end by their own timeout (30 to 120 s): not worth
        // failing for.
        this.#log.warn({ port: port.hostPort, err: error }, 'old udp flows could not be forgotten');
      }
    }
  }
}
