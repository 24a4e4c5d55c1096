import type { OverlayLinks } from './overlay-links.ts';
import type { OverlayBalance } from './sandbox-settings.ts';
import type { OverlayPeer, OverlaySettings } from './settings.ts';

/** Overlay networks of this host in the kernel: namespaces and links. */
export class OverlayNetworks {
  readonly #links: OverlayLinks;

  constructor(links: OverlayLinks) {
    this.#links = links;
  }

  /**
   * Makes the network's namespace, bridge and VXLAN device, or mends what is there. Idempotent. Throws what the kernel
   * lacks or refuses, as a sentence. Leaves nothing when it throws. Says how
   * virtual addresses can be balanced in it. A VXLAN device that had to be made again has no peers.
   */
  openOverlay(settings: OverlaySettings): OverlayBalance {
    return this.#links.open(settings);
  }

  /** Idempotent. Interfaces of containers in it go with it. */
  closeOverlay(networkId: string): Promise<void> {
    return this.#links.close(networkId);
  }

  /** Ids of the networks that have a namespace on this host. */
  overlays(): string[] {
    return this.#links.list();
  }

  /** Adds and removes what other hosts have in a network, in one batch. */
  changePeers(
    networkId: string,
    change: { add: readonly OverlayPeer[]; remove: readonly OverlayPeer[] },
  ): void {
    this.#links.changePeers(networkId, change);
  }

  /** Compares the kernel's peers with these and mends them. Answers how many entries were wrong. */
  mendPeers(networkId: string, peers: readonly OverlayPeer[]): number {
    return this.#links.mendPeers(networkId, peers);
  }
}
