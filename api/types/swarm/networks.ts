/**
 * What the engine's networks need of the swarm, so that clients see networks of both scopes. `swarm/swarm.ts` satisfies
 * it; outside of a swarm and on workers there are none here, and what a manager decides is refused in dockerd's words.
 */
import type {
  NetworkCreateRequest,
  NetworkCreateResponse,
  NetworkInspect,
  NetworkServices,
} from '../system.ts';

export interface SwarmNetworks {
  /**
   * Networks of the swarm as managers know them, `Containers` empty. From memory. undefined: this node is no manager,
   * or cannot answer as one.
   */
  list(): NetworkInspect[] | undefined;
  /** Whether something keeps the network from being removed. From memory; only managers know it. */
  isInUse(networkId: string): boolean;
  /** Its addresses on all nodes. From memory; undefined on workers. */
  statusOf(networkId: string): NetworkInspect['Status'];
  /** For `inspect?verbose=true`: tasks of the whole network by service name; undefined on workers. */
  servicesOf(networkId: string): NetworkServices | undefined;
  create(request: NetworkCreateRequest): Promise<NetworkCreateResponse>;
  remove(networkId: string): Promise<void>;
  /**
   * Lets a container of this host into an attachable network, and answers its addresses (IPv4 first, without prefix).
   * Resolves when this node knows of the network. Throws what the leader refuses, and after 20 s that no manager
   * answers.
   */
  attach(request: AttachContainer, signal: AbortSignal): Promise<{ addresses: string[] }>;
  /** Idempotent. A manager that is not there is told later. */
  detach(request: { network: string; container: string }): Promise<void>;
}

export interface AttachContainer {
  /** Name or id, as the client said it. */
  network: string;
  container: string;
  names: string[];
  addresses: string[];
}
