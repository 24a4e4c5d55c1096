/** One target of a group. Record `target/<group>/<targetKey>`. */
export interface Target {
  group: string;
  /** Of a container, task, node, service, image or an address, by the group's type. */
  id: string;
  /** Undefined: an image has none. */
  port: number | undefined;
  registeredMs: number;
  /** Since when no new request goes to it; it is gone when its time of draining is over. */
  drainingMs?: number;
  /** How long it drains; absent = `clusterDrainMs`. */
  drainForMs?: number;
  /** Id of the swarm service whose task it is; absent = registered by a client. */
  service?: string;
}

/** What the checks of a target have come to. Record `target-health/<group>/<targetKey>`; absent = none yet. */
export interface TargetHealth {
  status: 'HEALTHY' | 'UNHEALTHY';
  /** Why it is unhealthy, `HealthCheckTimeout`. */
  reasonCode?: string;
  sinceMs: number;
}

export const TARGET_STATUSES = [
  'DRAINING',
  'UNAVAILABLE',
  'HEALTHY',
  'UNHEALTHY',
  'INITIAL',
  'UNUSED',
] as const;
export type TargetStatus = (typeof TARGET_STATUSES)[number];

/** Names a target among those of its group, in the characters of record keys. */
export function targetKey({ id, port }: Pick<Target, 'id' | 'port'>): string {
  return `${encodeURIComponent(id)}:${port ?? ''}`;
}

export function targetRecordId(target: Pick<Target, 'group' | 'id' | 'port'>): string {
  return `${target.group}/${targetKey(target)}`;
}
