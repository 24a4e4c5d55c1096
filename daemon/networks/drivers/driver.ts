import type { SandboxInterface, Attachment } from '../../../runtime/network/attachment.ts';
import type { Network, NetworkSpec } from '../network.ts';

/** A kind of networks: what it needs on the host, and how a container gets into one. */
export interface NetworkDriver {
  readonly name: string;
  /** Where its networks are known: on this host, or in the whole swarm. */
  readonly scope: 'local' | 'swarm';
  /** Whether ports of the host can be published to its containers. */
  readonly publishesPorts: boolean;
  /**
   * The specification as it is to be stored. Throws invalid_argument for options it does not know and values it cannot
   * use, forbidden for what one of `others`, all networks that there are, has already. Pure.
   */
  accept(spec: NetworkSpec, others: readonly Network[]): NetworkSpec;
  /** The specification with what is on the host already and is to stay when the network goes. Only looks. */
  survey(spec: NetworkSpec): NetworkSpec;
  /** Makes what the network needs on the host. Leaves nothing when it throws. */
  create(network: Network): Promise<void>;
  /** Undoes `create`. Idempotent. */
  remove(network: Network): Promise<void>;
  /** How an interface gets into the network. */
  attachment(network: Network, iface: SandboxInterface): Attachment;
  /** Largest packet of the network; 0 = as the host's link has it. */
  mtu(network: Network): number;
  /** Host address of published ports that name none; undefined = the engine's default. */
  bindingAddress(network: Network): string | undefined;
  /** What the names of interfaces in containers begin with. */
  interfacePrefix(network: Network): string;
  /** Interfaces on the host that are the network's own. */
  hostLinks(network: Network): string[];
}
