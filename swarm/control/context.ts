import type { Clock } from '../../daemon/base/clock.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Sealer } from '../membership/ports.ts';
import type { Random } from '../objects/random.ts';
import type {
  CheckTemplates,
  HostSubnets,
  ImageNames,
  LocalNetwork,
  Managers,
  MarkOf,
  ReadLogs,
  RootAuthority,
  StatusOf,
} from './ports.ts';

/** What the operations of the swarm's API work with, on one manager. */
export interface ControlContext {
  cluster: Cluster;
  sealer: Sealer;
  clock: Clock;
  random: Random;
  root: RootAuthority;
  managers: Managers;
  statusOf: StatusOf;
  markOf: MarkOf;
  readLogs: ReadLogs;
  images: ImageNames;
  localNetwork: LocalNetwork;
  hostSubnets: HostSubnets;
  checkTemplates: CheckTemplates;
}

const NANOS_PER_MS = 1_000_000n;

/** Milliseconds since 1970 UTC. */
export function nowMs({ clock }: Pick<ControlContext, 'clock'>): number {
  return Number(clock.nowNano() / NANOS_PER_MS);
}
