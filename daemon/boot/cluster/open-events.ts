import type { Database } from '../../../storage/database/rows.ts';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { ClusterEvents } from '../../cluster/events/events.ts';
import { LocalEvents } from '../../cluster/events/storage/local-events.ts';
import { SharedEvents } from '../../cluster/events/storage/shared-events.ts';
import type { Config } from '../config/settings.ts';
import type { ClusterStores } from './cluster-place.ts';

/** Events over the database of this host, or over the store of its swarm. */
export async function openEvents(
  { swarm }: ClusterStores,
  { database, config, log }: { database: Database; config: Config; log: Logger },
): Promise<ClusterEvents> {
  const clock = systemClock;
  return await ClusterEvents.open({
    storage:
      swarm === undefined
        ? new LocalEvents(database)
        : new SharedEvents({ records: swarm.events, clock, log }),
    clock,
    log,
    retention: {
      normalTtlS: config.clusterEventsTtl,
      otherTtlS: config.clusterWarningsTtl,
      max: config.clusterEventsMax,
    },
  });
}
