import type { IpamConfig } from '../../api/types/system.ts';
import type { StringMap } from '../../api/types/maps.ts';

/** A network of swarm scope, or one that every node has by itself (`bridge`, `host`). */
export interface NetworkRecord {
  id: string;
  /** Milliseconds since 1970 UTC. */
  created: number;
  updated: number;
  name: string;
  labels: StringMap;
  driver: string;
  ingress: boolean;
  attachable: boolean;
  /** Absent in networks that every node has by itself. */
  overlay?: OverlayRecord;
}

/** What was decided of an overlay network when it was made: the same for as long as it lives. */
export interface OverlayRecord {
  options: StringMap;
  internal: boolean;
  ipv6: boolean;
  /** Each with its subnet and gateway. */
  ipam: { driver: string; options: StringMap | null; config: IpamConfig[] };
  /** No other network of the swarm has it. */
  vni: number;
}

/** What somebody has in a network. */
export interface NetworkAddresses {
  /** Its id. */
  network: string;
  /** Without prefix, IPv4 first. */
  addresses: string[];
}
