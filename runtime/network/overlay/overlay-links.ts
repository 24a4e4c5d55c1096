import { errnoOf, internal, invariant } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { OverlayAttachment } from '../attachment.ts';
import { findLink } from '../links/bridge.ts';
import type { LinkRemover } from '../links/link-remover.ts';
import type { NamespaceDirectory } from '../namespace-directory.ts';
import {
  deleteLink,
  getLink,
  newVethPair,
  readLink,
  setBridgePort,
  setLinkMaster,
} from '../netlink/links.ts';
import type { Link } from '../netlink/links.ts';
import { getForwarding, getNeighbours } from '../netlink/neighbours.ts';

import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { KernelModule } from './kernel-module.ts';
import { OVERLAY_BRIDGE, OverlayDevices } from './overlay-devices.ts';
import { changeRequests, mendRequests } from './peers.ts';
import { allowIpv6, allowNeighbours6, raiseNeighbourLimits, tuneOverlay } from './sandbox-settings.ts';
import type { OverlayBalance } from './sandbox-settings.ts';
import type { OverlayPeer, OverlaySettings } from './settings.ts';

/** As for veths of bridges: namespaces take 10 to 60 ms to die. */
const LINK_GRACE_MS = 250;
/** What is to be deleted may be gone. */
const GONE: ReadonlySet<string> = new Set(['ENOENT']);
const PORT = { hairpin: true, isolated: false };

/**
 * Overlay networks on this host: for each a namespace with a bridge, a VXLAN device whose socket is in the host's
 * namespace, and our ends of containers' interfaces (`<prefix><10 digits of the endpoint's id>`). Nothing leads from
 * there to the host. Keeps no socket in the namespaces: one is opened for each operation, in some 20 microseconds.
 */
export class OverlayLinks {
  readonly #namespaces: NamespaceDirectory;
  readonly #devices: OverlayDevices;
  readonly #prefix: string;
  readonly #remover: LinkRemover;
  readonly #log: Logger;
  readonly #bridgeFilter: KernelModule;
  /** Endpoints of open sandboxes, and the networks that they are in. */
  readonly #attached = new Map<string, string>();
  readonly #closing = new Map<string, Promise<void>>();
  #hasLimits = false;
  #hasWarned = false;

  constructor(deps: {
    host: NetlinkSocket;
    namespaces: NamespaceDirectory;
    prefix: string;
    remover: LinkRemover;
    log: Logger;
  }) {
    this.#namespaces = deps.namespaces;
    this.#devices = new OverlayDevices(deps);
    this.#prefix = deps.prefix;
    this.#remover = deps.remover;
    this.#log = deps.log;
    this.#bridgeFilter = new KernelModule('br_netfilter', deps);
  }

  /**
   * Makes the network on this host, or mends it. A VXLAN device that is made again has no peers. Says how virtual
   * addresses can be balanced in it. Leaves nothing when it throws. `wanted`: `none` where nothing on its bridge is to
   * be sent elsewhere.
   */
  open(asked: OverlaySettings, wanted: OverlayBalance = 'bridge'): OverlayBalance {
    const { networkId } = asked;
    invariant(/^[0-9a-z]+$/.test(networkId), `overlay: ${networkId} is no id of a network`);
    if (this.#closing.has(networkId)) {
      throw internal(`overlay network ${networkId} is being removed from this host`);
    }
    const settings = { ...asked, mtu: this.#devices.mtuOf(asked) };
    if (!this.#hasLimits) {
      this.#hasLimits = true;
      raiseNeighbourLimits(this.#log);
    }
    const { inside, isNew } = this.#enter(networkId);
    try {
      return this.#furnish(inside, settings, wanted);
    } catch (error) {
      if (isNew) {
        this.#discard(inside, networkId);
      }
      throw error;
    } finally {
      inside.close();
    }
  }

  /** Idempotent. Containers' interfaces in the network go with it. */
  close(networkId: string): Promise<void> {
    const closing =
      this.#closing.get(networkId) ??
      this.#close(networkId).finally(() => {
        this.#closing.delete(networkId);
      });
    this.#closing.set(networkId, closing);
    return closing;
  }

  /** What was just opened, on the way back from a failure: at once. */
  discard(networkId: string): void {
    using inside = this.#open(networkId);
    this.#discard(inside, networkId);
  }

  /** Ids of the networks that have a namespace. */
  list(): string[] {
    return this.#namespaces.list();
  }

  /** In one batch: 10,000 peers take 0.1 to 0.3 s. */
  changePeers(
    networkId: string,
    change: { add: readonly OverlayPeer[]; remove: readonly OverlayPeer[] },
  ): void {
    using inside = this.#open(networkId);
    const { index } = this.#vxlan(inside, networkId);
    const { removals, additions } = changeRequests(index, change);
    failpoint('overlay.peers.remove');
    inside.requestAll(networkId, removals, GONE);
    failpoint('overlay.peers.add');
    inside.requestAll(networkId, additions);
  }

  /** Answers how many entries were not as they are with these peers, and now are. */
  mendPeers(networkId: string, peers: readonly OverlayPeer[]): number {
    using inside = this.#open(networkId);
    const { index } = this.#vxlan(inside, networkId);
    const { removals, additions, wrong } = mendRequests(index, peers, {
      forwarding: inside.dump(networkId, getForwarding(index)),
      neighbours: (['ipv4', 'ipv6'] as const).flatMap((family) =>
        inside.dump(networkId, getNeighbours(index, family)),
      ),
    });
    if (wrong > 0) {
      failpoint('overlay.peers.mend');
      inside.requestAll(networkId, removals, GONE);
      inside.requestAll(networkId, additions);
    }
    return wrong;
  }

  /** Makes the pair: our end in the network's bridge, the other in the namespace. */
  attachInterface({ overlay: { networkId }, iface }: OverlayAttachment, namespaceFd: number): void {
    using inside = this.#open(networkId);
    const bridge = findLink(inside, OVERLAY_BRIDGE);
    if (bridge === undefined) {
      throw internal(`overlay network ${networkId} has no bridge on this host`);
    }
    const name = this.#name(iface.endpointId);
    this.#attached.set(iface.endpointId, networkId);
    failpoint('overlay.attach.veth');
    inside.request(name, [
      newVethPair({
        name,
        master: bridge.index,
        mtu: iface.mtu === 0 ? bridge.mtu : iface.mtu,
        peer: { name: iface.name, mac: iface.mac, namespaceFd },
      }),
      setBridgePort(name, PORT),
    ]);
  }

  /**
   * Nothing passes from here on, also when the namespace is still held; the interface goes soon after with it. False
   * when it is in no overlay network.
   */
  detachInterface(endpointId: string): boolean {
    return this.#cut(endpointId, (name, place) => {
      this.#remover.removeLater(name, LINK_GRACE_MS, place);
    });
  }

  /** As `detachInterface`, for a sandbox that lives on: the interface is gone when the promise resolves. */
  async pull(endpointId: string): Promise<boolean> {
    let removed: Promise<void> | undefined;
    const found = this.#cut(endpointId, (name, place) => {
      removed = this.#remover.removeNow(name, place);
    });
    await removed;
    return found;
  }

  /** After a restart of the daemon: these are live. Takes away all others; returns their names. */
  keep(live: readonly { endpointId: string; networkId: string }[]): string[] {
    for (const { endpointId, networkId } of live) {
      this.#attached.set(endpointId, networkId);
    }
    return this.list().flatMap((networkId) => this.#sweep(networkId));
  }

  #furnish(inside: NetlinkSocket, settings: OverlaySettings, wanted: OverlayBalance): OverlayBalance {
    const { networkId, gateways } = settings;
    failpoint('overlay.open.settings');
    const balance = this.#tune(networkId, wanted);
    if (balance !== wanted && !this.#hasWarned) {
      this.#hasWarned = true;
      this.#log.warn({}, 'the kernel has no br_netfilter: virtual addresses of services cannot be balanced');
    }
    const bridge = this.#namespaces.withDescriptor(networkId, (namespaceFd) =>
      this.#devices.ensure(inside, namespaceFd, settings),
    );
    if (gateways.some(({ address }) => !isIpv4(address))) {
      this.#namespaces.enter(networkId, () => {
        allowIpv6(OVERLAY_BRIDGE);
        allowNeighbours6(this.#devices.vxlanName(networkId));
      });
    }
    this.#devices.address(inside, bridge, settings);
    this.#replug(inside, networkId, bridge);
    return balance;
  }

  /** The kernel loads br_netfilter for nobody: what a host's own programs did not load, this one has to. */
  #tune(networkId: string, wanted: OverlayBalance): OverlayBalance {
    const tune = (): OverlayBalance => this.#namespaces.enter(networkId, () => tuneOverlay(wanted));
    const balance = tune();
    return balance === wanted || !this.#bridgeFilter.load() ? balance : tune();
  }

  /** A file at which nothing is mounted is what a crash, or a restart of the host, left. */
  #enter(networkId: string): { inside: NetlinkSocket; isNew: boolean } {
    try {
      return { inside: this.#namespaces.open(networkId), isNew: false };
    } catch (error) {
      if (!isAbsence(error)) {
        throw error;
      }
      failpoint('overlay.open.netns');
      return { inside: this.#namespaces.create(networkId), isNew: true };
    }
  }

  /** At once: what comes next may be another attempt, for which the VNI must be free. */
  #discard(inside: NetlinkSocket, networkId: string): void {
    const name = this.#devices.vxlanName(networkId);
    if (findLink(inside, name) !== undefined) {
      inside.request(name, [deleteLink(name)]);
    }
    this.#namespaces.remove(networkId);
  }

  /** The device first, and waited for: it holds the VNI and the port until the kernel has destroyed the namespace. */
  async #close(networkId: string): Promise<void> {
    failpoint('overlay.close.vxlan');
    const name = this.#devices.vxlanName(networkId);
    await this.#remover.removeNow(name, () => this.#namespaces.open(networkId));
    failpoint('overlay.close.netns');
    this.#namespaces.remove(networkId);
    for (const [endpointId, attached] of this.#attached) {
      if (attached === networkId) {
        this.#attached.delete(endpointId);
      }
    }
  }

  /** Puts the interfaces of containers back into a bridge that was made again. */
  #replug(inside: NetlinkSocket, networkId: string, bridge: number): void {
    const names = [...this.#attached].filter(([, id]) => id === networkId).map(([id]) => this.#name(id));
    for (const { index, name, master } of names.length === 0 ? [] : this.#veths(inside)) {
      if (master !== bridge && names.includes(name)) {
        tolerating(() => inside.request(name, [setLinkMaster(index, bridge), setBridgePort(name, PORT)]));
      }
    }
  }

  #cut(endpointId: string, remove: (name: string, place: () => NetlinkSocket) => void): boolean {
    const networkId = this.#attached.get(endpointId);
    if (networkId === undefined) {
      return false;
    }
    failpoint('overlay.detach.cut');
    this.#attached.delete(endpointId);
    this.#takeOut(networkId, [this.#name(endpointId)], remove);
    return true;
  }

  /** The network may be gone, and the interface. */
  #takeOut(
    networkId: string,
    names: readonly string[],
    remove: (name: string, place: () => NetlinkSocket) => void,
  ): void {
    tolerating(() => {
      using inside = this.#namespaces.open(networkId);
      for (const name of names) {
        const link = findLink(inside, name);
        if (link !== undefined) {
          tolerating(() => inside.request(name, [setLinkMaster(link.index, 0)]));
          remove(name, () => this.#namespaces.open(networkId));
        }
      }
    });
  }

  #sweep(networkId: string): string[] {
    const live = new Set(
      [...this.#attached].filter(([, id]) => id === networkId).map(([id]) => this.#name(id)),
    );
    const orphans: string[] = [];
    tolerating(() => {
      using inside = this.#namespaces.open(networkId);
      orphans.push(
        ...this.#veths(inside)
          .map(({ name }) => name)
          .filter((name) => !live.has(name)),
      );
    });
    failpoint('overlay.restore.link');
    this.#takeOut(networkId, orphans, (name, place) => {
      this.#remover.removeLater(name, LINK_GRACE_MS, place);
    });
    return orphans;
  }

  #veths(inside: NetlinkSocket): Link[] {
    const form = new RegExp(`^${this.#prefix}[0-9a-f]{10}$`);
    return inside
      .dump('interfaces', getLink())
      .map(readLink)
      .filter(({ name, kind }) => kind === 'veth' && form.test(name));
  }

  #vxlan(inside: NetlinkSocket, networkId: string): Link {
    const link = findLink(inside, this.#devices.vxlanName(networkId));
    if (link === undefined) {
      throw internal(`overlay network ${networkId} has no VXLAN device on this host`);
    }
    return link;
  }

  #open(networkId: string): NetlinkSocket {
    try {
      return this.#namespaces.open(networkId);
    } catch (error) {
      throw isAbsence(error)
        ? internal(`overlay network ${networkId} is not on this host`, { cause: error })
        : error;
    }
  }

  #name(endpointId: string): string {
    return `${this.#prefix}${endpointId.slice(0, 10)}`;
  }
}

function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'EINVAL'].includes(errnoOf(error) ?? '');
}

/** A link goes by itself when the namespace of its peer dies, at any moment, and so may the network. */
function tolerating(step: () => void): void {
  try {
    step();
  } catch (error) {
    if (errnoOf(error) !== 'ENODEV' && !isAbsence(error)) {
      throw error;
    }
  }
}
