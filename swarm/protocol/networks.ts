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
  /** Its id. */
  network: string;
  container: string;
  /** Lower case. */
  names: string[];
  /** Asked for by its user; empty = whichever are free. */
  addresses: string[];
}

/** The attachment. Another request of the same container and network gets the same one. */
export interface AttachAnswer {
  id: string;
  addresses: string[];
}

/** `networks.detach`. What is not there is no error. */
export interface DetachRequest {
  session: string;
  network: string;
  container: string;
}
