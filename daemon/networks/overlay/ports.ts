/** What overlay networks need of the kernel. Satisfied by `runtime/network/overlay`. */
import type { IpAddress } from '../../base/addresses/ip.ts';
import type {
  BalancedAddress,
  IngressSettings,
  MeshPort,
  OverlayEncryption,
  OverlayGuard,
  OverlayPeer,
  OverlaySettings,
} from '../../../runtime/network/overlay/settings.ts';

export interface OverlayKernel {
  /**
   * From now on VXLAN of exactly these networks is taken from their hosts alone, and that of encrypted ones passes as
   * ESP alone. undefined: there are none any more, and nothing is encrypted. Comes before a network is opened.
   */
  guard(guard: OverlayGuard | undefined): void;
  /**
   * What encrypted networks send leaves encrypted, on exactly these paths. Answers how many entries of the kernel were
   * not so. Throws a sentence where the kernel cannot. Comes between the guard and the networks.
   */
  encrypt(encryption: OverlayEncryption): number;
  /** There are no encrypted networks any more. Idempotent. */
  stopEncryption(): void;
  /**
   * Makes the network's namespace, bridge and VXLAN device, or mends what is there. Idempotent. Throws what the kernel
   * lacks or refuses, as a sentence for the task's error. Leaves nothing when it throws. Not while it is being closed.
   * What had to be made again has no peers: `mendPeers` is to follow. `none`: this kernel cannot balance virtual
   * addresses.
   */
  openOverlay(settings: OverlaySettings): 'bridge' | 'none';
  /** Idempotent. Interfaces of containers in it go with it. */
  closeOverlay(networkId: string): Promise<void>;
  /** Ids of the networks that have a namespace on this host, the ingress network's too. */
  overlays(): string[];
  /**
   * Adds and removes what other hosts have in a network, in one batch. Removes first: an address may go from one host
   * to the next.
   */
  changePeers(
    networkId: string,
    change: { add: readonly OverlayPeer[]; remove: readonly OverlayPeer[] },
  ): void;
  /** Compares the kernel's peers with these and mends them. Answers how many entries were wrong. */
  mendPeers(networkId: string, peers: readonly OverlayPeer[]): number;
  /** Sets what answers at these virtual addresses; `backends` undefined: the address is gone. */
  balance(networkId: string, changed: readonly BalancedAddress[], gone: readonly IpAddress[]): void;
  /** Compares all virtual addresses with these and mends them. Answers how many were wrong. */
  mendBalance(networkId: string, all: readonly BalancedAddress[]): number;
  /** Ends flows through virtual addresses to a backend that is gone: TCP gets a reset, UDP goes elsewhere. */
  forgetBackend(networkId: string, backend: IpAddress): void;
  /**
   * A backend that this host does not reach: connections to it that it has not answered yet are led elsewhere by the
   * client's next packet. Those that it has answered stay.
   */
  forgetUnanswered(networkId: string, backend: IpAddress): void;
  /** Asks hosts whether they are there. Answers those that have answered since the call before. Never waits. */
  probe(hosts: readonly IpAddress[]): IpAddress[];
  /** The ingress network and this host's way into it. Idempotent; leaves nothing when it throws. */
  openIngress(settings: IngressSettings): void;
  /** Idempotent. */
  closeIngress(): Promise<void>;
  /** Exactly these ports from now on. In one transaction on each side. */
  mesh(ports: readonly MeshPort[]): void;
}
