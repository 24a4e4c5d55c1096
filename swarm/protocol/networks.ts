export type {
  AssignedNetwork,
  IngressPort,
  NetworkEndpoint,
  NetworkService,
  NetworksChange,
} from '../../api/types/swarm/overlay.ts';

/** `networks.attach`, from a node to the leader: a container that is no task wants into an attachable network. */
export interface AttachRequest {
  session: string;
  /** Name or id. */
  network: string;
  container: string;
  /** Lower case. */
  names: string[];
  /** Asked for by its user; empty = whichever are free. */
  addresses: string[];
}

/** The attachment. Another request of the same container and network gets the same one. */
export interface AttachAnswer {
  /** Its endpoint in `NetworksChange` has the same. */
  id: string;
  /** The network's id. */
  network: string;
  addresses: string[];
}

/** `networks.detach`. What is not there is no error. */
export interface DetachRequest {
  session: string;
  /** Name or id. */
  network: string;
  container: string;
}

/**
 * `networks.attached`: all attachments that a node has, at the beginning of each session once its engine knows its
 * containers. The leader drops others of this node.
 */
export interface AttachedRequest {
  session: string;
  /** Networks by id. */
  attachments: { network: string; container: string }[];
}
