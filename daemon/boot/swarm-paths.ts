import { join } from 'node:path';
import type { InstancePaths } from './instance.ts';

/** Of Debian's package etcd-server; found by the daemon's PATH. */
export const ETCD = 'etcd';

/** What the node has of its swarm, on disk and while it runs. */
export function swarmPaths({ dataRoot, execRoot }: Pick<InstancePaths, 'dataRoot' | 'execRoot'>): {
  dataDirectory: string;
  runDirectory: string;
} {
  return { dataDirectory: join(dataRoot, 'swarm'), runDirectory: join(execRoot, 'swarm') };
}
