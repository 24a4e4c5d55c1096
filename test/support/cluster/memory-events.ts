import { systemClock, type Clock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { ClusterEvents } from '../../../daemon/cluster/events/events.ts';
import type { RetentionRules } from '../../../daemon/cluster/events/retention.ts';
import { LocalEvents } from '../../../daemon/cluster/events/storage/local-events.ts';
import { openDatabase } from '../../../storage/database/index.ts';

/** Events over a database, in memory when none is named, closed with it. */
export async function openEvents({
  file = ':memory:',
  retention = { normalTtlS: 3_600, otherTtlS: 86_400, max: 100_000 },
  clock = systemClock,
}: { file?: string; retention?: RetentionRules; clock?: Clock } = {}): Promise<
  { events: ClusterEvents } & AsyncDisposable
> {
  const database = openDatabase(file, silentLogger);
  const storage = new LocalEvents(database);
  const events = await ClusterEvents.open({ storage, clock, log: silentLogger, retention });
  return {
    events,
    [Symbol.asyncDispose]: async () => {
      await events[Symbol.asyncDispose]();
      database.close();
    },
  };
}
