import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import type { Balancer } from './balancer.ts';
import type { HostProbes } from './host-probes.ts';
import type { Ingress } from './ingress/ingress.ts';
import type { OverlayLinks } from './overlay-links.ts';
import type { OverlayBalance } from './sandbox-settings.ts';
import type { Esp } from './encryption/esp.ts';
import type { Guard } from './encryption/guard.ts';
import type {
  BalancedAddress,
  IngressSettings,
  MeshPort,
  OverlayEncryption,
  OverlayGuard,
  OverlayPeer,
  OverlaySettings,
} from './settings.ts';

/** Overlay networks of this host in the kernel: namespaces and links. */
export class OverlayNetworks {
  readonly #links: OverlayLinks;
  readonly #balancer: Balancer;
  readonly #ingress: Ingress;
  readonly #guard: Guard;
  readonly #esp: Esp;

  readonly #probes: HostProbes;

  constructor(deps: {
    links: OverlayLinks;
    balancer: Balancer;
    ingress: Ingress;
    guard: Guard;
    esp: Esp;
    probes: HostProbes;
  }) {
    this.#guard = deps.guard;
    this.#esp = deps.esp;
    this.#links = deps.links;
    this.#balancer = deps.balancer;
    this.#ingress = deps.ingress;
    this.#probes = deps.probes;
  }

  /**
   * From now on VXLAN of exactly these networks is taken from their hosts alone, and that of encrypted ones passes as
   * ESP alone, in and out. undefined: there are none any more, and nothing is encrypted. Comes before a network is
   * opened.
   */
  guard(guard: OverlayGuard | undefined): void {
    if (guard !== undefined) {
      this.#guard.set(guard);
    } else if (this.#guard.isThere()) {
      this.stopEncryption();
      this.#guard.set(undefined);
    }
  }

  /**
   * What encrypted networks send leaves encrypted, on exactly these paths. Answers how many entries of the kernel were
   * not so. Throws a sentence where the kernel has no ESP. Comes between the guard and the networks.
   */
  encrypt(encryption: OverlayEncryption): number {
    return this.#esp.encrypt(encryption);
  }

  /** There are no encrypted networks any more. Idempotent; finds what an earlier daemon left. */
  stopEncryption(): void {
    if (this.#esp.isInUse || this.#guard.didEncrypt()) {
      this.#esp.stop();
    }
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
  async closeOverlay(networkId: string): Promise<void> {
    await this.#links.close(networkId);
    await this.#balancer.closed(networkId);
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

  /** Sets what answers at these virtual addresses; of `gone` nothing answers any more. */
  balance(networkId: string, changed: readonly BalancedAddress[], gone: readonly IpAddress[]): void {
    this.#balancer.balance(networkId, changed, gone);
  }

  /** Compares all virtual addresses with these and mends them. Answers how many were wrong. */
  mendBalance(networkId: string, all: readonly BalancedAddress[]): number {
    return this.#balancer.mendBalance(networkId, all);
  }

  /** Ends flows through virtual addresses to a backend that is gone: TCP gets a reset, UDP goes elsewhere. */
  forgetBackend(networkId: string, backend: IpAddress): void {
    this.#balancer.forgetBackend(networkId, backend);
  }

  /** Of a backend that does not answer: connections that are not made yet go elsewhere, and UDP. */
  forgetUnanswered(networkId: string, backend: IpAddress): void {
    this.#balancer.forgetUnanswered(networkId, backend);
  }

  /** Asks hosts whether they are there. Answers those that have answered since the call before. Never waits. */
  probe(hosts: readonly IpAddress[]): IpAddress[] {
    return this.#probes.probe(hosts);
  }

  /**
   * The ingress network, and this host's way into it, made or mended. Idempotent; leaves nothing when it throws. Ports
   * that were published in it before, by this daemon or an earlier one, are answered again.
   */
  openIngress(settings: IngressSettings): void {
    this.#ingress.open(settings);
  }

  /** Idempotent. Finds what an earlier daemon left, too. */
  closeIngress(): Promise<void> {
    return this.#ingress.close();
  }

  /** This host answers at exactly these ports from now on. In one transaction on each side and of each family. */
  mesh(ports: readonly MeshPort[]): void {
    this.#ingress.mesh(ports);
  }
}
