import type { IpamConfig } from '../system.ts';
import type { StringMap } from '../maps.ts';

/**
 * What a node has to know of networks of swarm scope: all networks that a task or a container of its own is in, and
 * the ingress network. `full`: what is not named is gone. Later ones say what is different, each on the one before.
 * Comes before the tasks that need it; a network goes after its tasks, in a message of its own, and with it all its
 * endpoints and services, which are not named once more.
 */
export interface NetworksChange {
  full: boolean;
  /** Large ones come in parts: acted on with the last part only. */
  more?: true;
  /** The node's own address for overlay traffic, and the UDP port of it in this swarm. */
  dataPath: { addr: string; port: number };
  /** New ones. Told again only where `nodeAddresses` are others. */
  networks: AssignedNetwork[];
  /** Ids. */
  removedNetworks: string[];
  endpoints: NetworkEndpoint[];
  removedEndpoints: { network: string; id: string }[];
  services: NetworkService[];
  removedServices: { network: string; id: string }[];
  /** Where the node has encrypted networks: with the first of them, and whenever something of it is another. */
  keys?: NetworkKeys;
}

/** What a node needs to encrypt what it sends to others, and to read what they send. Replaces all told before. */
export interface NetworkKeys {
  /** The node's own id. */
  node: string;
  /**
   * Two or three, oldest first: packets of all are read, the last but one is sent with. `secret`: base64 of 32 bytes.
   */
  ring: NetworkKey[];
  /**
   * By id of each node that has something in an encrypted network of this one: a number that no other node ever has.
   */
  numbers: Record<string, number>;
}

export interface NetworkKey {
  /** From 1; the next key's is one more. */
  id: number;
  secret: string;
}

/** A network of swarm scope, as it is for as long as it lives. */
export interface AssignedNetwork {
  id: string;
  name: string;
  /** Milliseconds since 1970 UTC. */
  created: number;
  driver: string;
  labels: StringMap;
  options: StringMap;
  ingress: boolean;
  attachable: boolean;
  internal: boolean;
  ipv6: boolean;
  /** Each with its subnet and gateway. */
  ipam: { driver: string; options: StringMap | null; config: IpamConfig[] };
  vni: number;
  /** The ingress network only: addresses of this node in it, without prefix. */
  nodeAddresses: string[];
}

/** Who has an address in a network: a task, a container that was attached, or a node (in the ingress network). */
export interface NetworkEndpoint {
  network: string;
  /** Of the task or the attachment; `node-ID` for a node. */
  id: string;
  /** Where it is. */
  node: string;
  /** That node's address for overlay traffic. */
  nodeAddr: string;
  /** Without prefix, IPv4 first. */
  addresses: string[];
  /** Names that lead to it alone: its container's name, short id and host name. Lower case. */
  names: string[];
  /** The service that it is a task of. */
  service?: string;
  /** Takes new connections of its service: false for tasks of jobs and for nodes, true for attachments. */
  isReady: boolean;
}

/** A service as one network sees it. Its backends are the endpoints that name it. */
export interface NetworkService {
  network: string;
  id: string;
  name: string;
  /** Without prefix, IPv4 first; none with endpoint mode dnsrr. */
  vips: string[];
  /** Other names of it in this network. Lower case. */
  aliases: string[];
  /** The ingress network only: what each node of the swarm answers at. */
  ports: IngressPort[];
}

export interface IngressPort {
  protocol: 'tcp' | 'udp' | 'sctp';
  published: number;
  target: number;
  /** A node with tasks of the service sends calls to these alone, and they see the client's address. */
  preferLocal?: true;
}
