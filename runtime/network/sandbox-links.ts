import type { Logger } from '../../daemon/base/logger.ts';
import type { Attachment, KeptSandbox } from './attachment.ts';
import { linkNamed } from './links/bridge.ts';
import type { BridgeSettings } from './links/bridge.ts';
import type { Bridges } from './links/bridges.ts';
import type { ChildLinks } from './links/child-links.ts';
import type { Veths } from './links/veths.ts';
import type { NetlinkSocket } from './netlink/netlink-socket.ts';
import type { OverlayLinks } from './overlay/overlay-links.ts';

/** Interfaces of sandboxes, of whatever kind their networks are. */
export class SandboxLinks {
  readonly #bridges: Bridges;
  readonly #veths: Veths;
  readonly #children: ChildLinks;
  readonly #overlays: OverlayLinks;
  readonly #log: Logger;

  constructor(deps: {
    bridges: Bridges;
    veths: Veths;
    children: ChildLinks;
    overlays: OverlayLinks;
    log: Logger;
  }) {
    this.#bridges = deps.bridges;
    this.#veths = deps.veths;
    this.#children = deps.children;
    this.#overlays = deps.overlays;
    this.#log = deps.log;
  }

  /** Index of the link of the host that the interface will belong to, made or mended if need be; 0 = none. */
  master(attachment: Attachment): number {
    if ('overlay' in attachment) {
      return 0;
    }
    return 'bridge' in attachment
      ? this.#bridgeIndex(attachment.bridge)
      : this.#children.ensureParent(attachment.parent);
  }

  /** Makes the interface in the namespace; `settle` is to follow. */
  attach(attachment: Attachment, master: number, namespaceFd: number): void {
    if ('overlay' in attachment) {
      this.#overlays.attachInterface(attachment, namespaceFd);
    } else if ('bridge' in attachment) {
      this.#veths.attachInterface(attachment, master, namespaceFd);
    } else {
      this.#children.attachInterface(attachment, master, namespaceFd);
    }
  }

  /** A new interface has its name; returns its index. */
  settle(inside: NetlinkSocket, attachment: Attachment): number {
    return 'parent' in attachment
      ? this.#children.settle(inside, attachment)
      : linkNamed(inside, attachment.iface.name).index;
  }

  /** Nothing passes these from here on; they go soon after with their sandbox, which is being closed. */
  cut(sandboxId: string, endpointIds: readonly string[]): void {
    const others = endpointIds.filter(
      (id) => !this.#overlays.detachInterface(id) && !this.#veths.detachInterface(id),
    );
    if (others.length > 0) {
      this.#children.pull(sandboxId, others);
    }
  }

  /** Takes an interface from an open sandbox; it is gone when the promise resolves. Idempotent. */
  async pull(sandboxId: string, endpointId: string): Promise<void> {
    if (!(await this.#overlays.pull(endpointId)) && !(await this.#veths.pull(endpointId))) {
      this.#children.pull(sandboxId, [endpointId]);
    }
  }

  /** Makes or mends a bridge, with the interfaces in it. */
  mend(bridge: BridgeSettings): void {
    this.#veths.replug(bridge.name, this.#bridges.ensure(bridge));
  }

  /** Takes away every interface but those of `live` sandboxes, and takes these over. */
  sweep(bridges: readonly BridgeSettings[], live: readonly KeptSandbox[]): void {
    for (const endpoint of live.flatMap(({ endpoints }) => endpoints)) {
      this.#veths.adopt(endpoint);
    }
    const overlays = live.flatMap((sandbox) => sandbox.overlays ?? []);
    for (const name of [...this.#veths.sweep(), ...this.#overlays.keep(overlays)]) {
      this.#log.info({ link: name }, 'orphaned interface taken away');
    }
    for (const { id, children } of live) {
      for (const name of children === undefined ? [] : this.#children.keep(id, children)) {
        this.#log.info({ sandbox: id, link: name }, 'orphaned interface taken away');
      }
    }
    for (const bridge of bridges) {
      this.#veths.replug(bridge.name, this.#bridgeIndex(bridge));
    }
  }

  #bridgeIndex(bridge: BridgeSettings): number {
    return this.#bridges.index(bridge, (index) => {
      this.#veths.replug(bridge.name, index);
    });
  }
}
