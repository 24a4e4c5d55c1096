import type { NetworkInspect } from '../../../api/types/system.ts';

const PREDEFINED = new Set(['bridge', 'host', 'none']);
const DRIVERS = new Set(['macvlan', 'ipvlan']);

/** Whether it is one that each node has, and that services name as if it was of the swarm. Pure. */
export function isForServices({ name, driver }: { name: string; driver: string }): boolean {
  return PREDEFINED.has(name) || DRIVERS.has(driver);
}

/** Such a network as dockerd shows it to clients that look for one of the swarm. Pure. */
export function forServices(network: NetworkInspect): NetworkInspect {
  const labels = PREDEFINED.has(network.Name) ? { 'com.docker.swarm.predefined': 'true' } : {};
  return { ...network, Scope: 'swarm', Labels: { ...network.Labels, ...labels } };
}
