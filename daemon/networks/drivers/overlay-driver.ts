import type { Attachment, SandboxInterface } from '../../../runtime/network/attachment.ts';
import { invalidArgument } from '../../base/errors.ts';
import { OVERLAY_DRIVER } from '../network.ts';
import type { Network, NetworkSpec } from '../network.ts';
import type { NetworkDriver } from './driver.ts';

/**
 * Networks of the swarm: containers on several hosts share a subnet. Its managers make and remove them, and this host
 * has those that it is told of (`overlay/overlay-networks.ts`).
 */
export class OverlayDriver implements NetworkDriver {
  readonly name = OVERLAY_DRIVER;
  readonly scope = 'swarm';
  readonly publishesPorts = false;

  accept(): NetworkSpec {
    throw invalidArgument('Driver "overlay": managers of a swarm make its networks');
  }

  survey(spec: NetworkSpec): NetworkSpec {
    return spec;
  }

  create(): Promise<void> {
    return Promise.resolve();
  }

  remove(): Promise<void> {
    return Promise.resolve();
  }

  attachment({ id }: Network, iface: SandboxInterface): Attachment {
    return { overlay: { networkId: id }, iface };
  }

  /** As the bridge in the network's namespace has it. */
  mtu(): number {
    return 0;
  }

  bindingAddress(): undefined {
    // No port is published.
  }

  interfacePrefix(): string {
    return 'eth';
  }

  hostLinks(): string[] {
    return [];
  }
}
