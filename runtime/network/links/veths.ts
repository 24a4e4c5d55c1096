import { errnoOf } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { BridgeAttachment } from '../attachment.ts';
import { findLink } from './bridge.ts';
import type { LinkRemover } from './link-remover.ts';
import type { NetlinkRequest } from '../netlink/netlink.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { getLink, newVethPair, readLink, setBridgePort, setLinkMaster } from '../netlink/links.ts';
import type { BridgePort, Link } from '../netlink/links.ts';

/** Namespaces take 10 to 60 ms to die; past this the interface is removed by hand. */
const LINK_GRACE_MS = 250;

/** A port as it is to be in its bridge, to be put back when the bridge was deleted by another program. */
interface AttachedPort {
  bridge: string;
  port: BridgePort;
}

/** Our ends of the interfaces in sandboxes: `<prefix><10 digits of the endpoint's id>`, each in its bridge. */
export class Veths {
  readonly #host: NetlinkSocket;
  readonly #prefix: string;
  readonly #remover: LinkRemover;
  /**
   * Those of open sandboxes. Those of closed ones may still exist, and must not come back into the bridge.
   */
  readonly #attached = new Map<string, AttachedPort>();

  constructor(deps: { host: NetlinkSocket; prefix: string; remover: LinkRemover }) {
    this.#host = deps.host;
    this.#prefix = deps.prefix;
    this.#remover = deps.remover;
  }

  /** Makes the pair, its other end in the namespace. */
  attachInterface(attachment: BridgeAttachment, master: number, namespaceFd: number): void {
    const { bridge, iface } = attachment;
    const name = this.#name(iface.endpointId);
    const port = portOf(attachment);
    this.#host.request(name, [
      newVethPair({
        name,
        master,
        mtu: iface.mtu,
        peer: { name: iface.name, mac: iface.mac, namespaceFd },
      }),
      setBridgePort(name, port),
    ]);
    this.#attached.set(name, { bridge: bridge.name, port });
  }

  /** After a restart of the daemon: the interface of a live sandbox. */
  adopt(attachment: { endpointId: string; bridge: { name: string; icc: boolean } }): void {
    const { endpointId, bridge } = attachment;
    this.#attached.set(this.#name(endpointId), { bridge: bridge.name, port: portOf({ bridge }) });
  }

  /** Puts the interfaces of this bridge back into it, after another program deleted it. */
  replug(bridge: string, master: number): void {
    const members = [...this.#attached].filter(([, port]) => port.bridge === bridge);
    const lost = members.length === 0 ? [] : this.#all();
    for (const link of lost.filter((each) => each.master !== master)) {
      const attached = this.#attached.get(link.name);
      if (attached?.bridge === bridge) {
        this.#change(link.name, [setLinkMaster(link.index, master), setBridgePort(link.name, attached.port)]);
      }
    }
  }

  /**
   * Nothing passes from here on, also when the namespace is still held; the interface goes soon after with it. False
   * when there is none.
   */
  detachInterface(endpointId: string): boolean {
    const name = this.#name(endpointId);
    const found = this.#cut(name);
    if (found) {
      this.#remover.removeLater(name, LINK_GRACE_MS);
    }
    return found;
  }

  /** As `detachInterface`, for a sandbox that lives on: the interface is gone when the promise resolves. */
  async pull(endpointId: string): Promise<boolean> {
    const name = this.#name(endpointId);
    const found = this.#cut(name);
    if (found) {
      await this.#remover.removeNow(name);
    }
    return found;
  }

  /** Takes away all that are not adopted; returns their names. */
  sweep(): string[] {
    const orphans = this.#all()
      .map(({ name }) => name)
      .filter((name) => !this.#attached.has(name));
    for (const name of orphans) {
      failpoint('network.restore.link');
      if (this.#cut(name)) {
        this.#remover.removeLater(name, LINK_GRACE_MS);
      }
    }
    return orphans;
  }

  #cut(name: string): boolean {
    failpoint('network.close.detach');
    this.#attached.delete(name);
    const link = findLink(this.#host, name);
    if (link === undefined) {
      return false;
    }
    failpoint('network.close.detaching');
    if (link.master !== 0) {
      this.#change(name, [setLinkMaster(link.index, 0)]);
    }
    return true;
  }

  #name(endpointId: string): string {
    return `${this.#prefix}${endpointId.slice(0, 10)}`;
  }

  #all(): Link[] {
    const form = new RegExp(`^${this.#prefix}[0-9a-f]{10}$`);
    return this.#host
      .dump('interfaces', getLink())
      .map(readLink)
      .filter(({ name, kind }) => kind === 'veth' && form.test(name));
  }

  /** A link goes by itself when the namespace of its peer dies, at any moment: also since we looked. */
  #change(name: string, requests: readonly NetlinkRequest[]): void {
    try {
      this.#host.request(name, requests);
    } catch (error) {
      if (errnoOf(error) !== 'ENODEV') {
        throw error;
      }
    }
  }
}

/** Isolated ports reach the bridge itself, and so the host and the world, but not each other. */
function portOf({ bridge }: { bridge: { icc: boolean } }): BridgePort {
  return { hairpin: true, isolated: !bridge.icc };
}
