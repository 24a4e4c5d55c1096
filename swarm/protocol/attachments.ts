/**
 * Containers of a node that are no tasks, in attachable networks: what the node asks of the leader. It asks for itself:
 * which node it is says its certificate.
 */
export interface AttachedContainer {
  /** Id or name. */
  network: string;
  container: string;
  /** Names that lead to it alone. */
  names: string[];
  /** Without prefix. Of a family that none is named of, the leader chooses one. */
  addresses: string[];
}

/** `networks.attach`. Asked again for the same container it is answered the same. */
export interface AttachRequest extends AttachedContainer {
  session: string;
}

export interface AttachAnswer {
  /** Of the attachment: its endpoint in `NetworksChange` has it. */
  id: string;
  /** Id. */
  network: string;
  /** Without prefix, IPv4 first. */
  addresses: string[];
}

/** `networks.detach`. Nothing there is no error. */
export interface DetachRequest {
  session: string;
  network: string;
  container: string;
}

/**
 * `networks.attached`, with each session: all that the node has. What the leader knows beyond it is over; what it does
 * not know, as it was lost, it takes as it is, where the addresses are free.
 */
export interface AttachedRequest {
  session: string;
  attachments: AttachedContainer[];
}

export interface AttachedAnswer {
  /** Those that nothing is known of to other nodes, with the reason. */
  refused: { network: string; container: string; error: string }[];
}
