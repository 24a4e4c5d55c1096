import type { Network } from '../network.ts';

/**
 * The bridge through which a container whose networks are all of the swarm reaches other hosts, and through which ports
 * of its host reach it. Users may make it beforehand, with settings of their own. dockerd's name.
 */
export const OUTLET = 'docker_gwbridge';

export function isOutlet({ name }: Pick<Network, 'name'>): boolean {
  return name === OUTLET;
}
