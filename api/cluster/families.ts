import type { ClusterFamily } from './family.ts';
import { eventsFamily } from './events/family.ts';
import { targetsFamily } from './targets/family.ts';

/** What the cluster interface serves. The last one answers what is nobody's. */
export const CLUSTER_FAMILIES: readonly ClusterFamily[] = [targetsFamily, eventsFamily];
