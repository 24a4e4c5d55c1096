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
}
