import type { Network, NetworkSpec } from './network.ts';
import type { Attachment, SandboxInterface } from './ports.ts';

/** A kind of networks: what it needs on the host, and how a container gets into one. */
export interface NetworkDriver {
  readonly name: string;
  /** Where its networks are known: on this host, or in the whole swarm. */
  readonly scope: 'local' | 'swarm';
  /** Throws invalid_argument for options it does not know and values it cannot use. Pure. */
  check(spec: NetworkSpec): void;
  /** Makes what the network needs on the host. Leaves nothing when it throws. */
  create(network: Network): Promise<void>;
  /** Undoes `create`. Idempotent. */
  remove(network: Network): Promise<void>;
  /** How an interface gets into the network. */
  attachment(network: Network, iface: SandboxInterface): Attachment;
  /** Largest packet of the network. */
  mtu(network: Network): number;
  /** Host address of published ports that name none; undefined = the engine's default. */
  bindingAddress(network: Network): string | undefined;
  /** Interfaces on the host that are the network's own. */
  hostLinks(network: Network): string[];
}
