import type { NodeDescription, NodeSpec, NodeState } from '../../api/types/swarm/node.ts';
import type { NetworkAddresses } from './network.ts';

/** The user's part of a node. */
export interface NodeRecord {
  id: string;
  /** Milliseconds since 1970 UTC. */
  created: number;
  updated: number;
  spec: NodeSpec;
}

/** What the managers observe of a node: written by the leader. */
export interface NodeStateRecord {
  id: string;
  /** The role of its certificate, which follows `NodeSpec.Role`. */
  role: 'worker' | 'manager';
  state: NodeState;
  message: string;
  addr: string;
  /** Where overlay traffic reaches it; absent = `addr`. */
  dataAddr?: string;
  /** Since when it is in this state, in milliseconds since 1970 UTC. */
  since: number;
}

/** What a node says of itself; written only when it changed. */
export interface NodeDescriptionRecord {
  id: string;
  description: NodeDescription;
  /** What its interfaces and its own networks are in, `ADDRESS/LENGTH`: networks of the swarm keep off them. */
  subnets?: string[];
}

/** Addresses of a node itself, in the ingress network; written by the planner. */
export interface NodeAddressesRecord {
  id: string;
  networks: NetworkAddresses[];
}
